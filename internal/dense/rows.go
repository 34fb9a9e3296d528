// SPDX-License-Identifier: Apache-2.0

package dense

import "unsafe"

// copyRows copies from to the beginning of to. While the collector marks, the write barrier takes
// most of the time; that of four stores in a row, with no check in between, is cheaper than that of
// copy, which looks up the type of the memory for each pointer. It is a function of its own so that
// the loop keeps all it needs in registers.
//
//go:noinline
func copyRows[E any](to, from []E) {
	if unsafe.Sizeof(*new(E)) > 16 { // four of an interface fit the registers, four of a struct do not
		copy(to, from)
		return
	}
	for len(from) >= 4 {
		t, f := (*[4]E)(to), (*[4]E)(from)
		a, b, c, d := f[0], f[1], f[2], f[3]
		t[0], t[1], t[2], t[3] = a, b, c, d
		to, from = to[4:], from[4:]
	}
	for ; len(from) > 0; to, from = to[1:], from[1:] {
		to[0] = from[0]
	}
}

// touch writes a zero, which is there already, to every 4 KB of memory that was just made. While the
// collector marks, the write barrier reads the old value of each pointer before it is written: in
// memory that is new to the process, the kernel maps its shared page of zeros for the read, and a
// moment later another page for the write, and has all processors forget the first.
func touch[E any](made []E) {
	const page = 4096 // bytes; where pages are larger, some are touched more than once
	size := uintptr(len(made)) * unsafe.Sizeof(*new(E))
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(made))), size)
	for i := uintptr(0); i < size; i += page {
		bytes[i] = 0
	}
}
