// SPDX-License-Identifier: Apache-2.0

package kube

import "syscall"

// dieWithParent has the kernel kill the child when the thread that started it ends, and so, as
// long as that thread is kept, when this process ends in whatever way.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
