// SPDX-License-Identifier: Apache-2.0

//go:build !profile

package mirror

func profile() (end func() error, err error) { return func() error { return nil }, nil }
