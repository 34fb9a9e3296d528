// SPDX-License-Identifier: Apache-2.0

package main

import "k8s.io/client-go/tools/cache"

// listOnly keeps client-go from asking for a watch-list.
type listOnly struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is how client-go asks.
func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }
