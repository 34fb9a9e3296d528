// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package kube

import "syscall"

// dieWithParent has no counterpart here: a test binary that is killed leaves its servers running.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
