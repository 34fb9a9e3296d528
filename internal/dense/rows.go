// SPDX-License-Identifier: Apache-2.0

package dense

import "unsafe"

// copyRows copies as many rows as there are to copy. What takes the time is the write barrier,
// while the collector marks: that of four stores in a row, with nothing to check in between, is
// cheaper than that of copy, which asks for each pointer what type the memory has. At other times
// both wait for memory.
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

// touch writes to each page of memory that was just made: zero, where zero is. While the collector
// marks, the write barrier reads what a pointer takes the place of. If the process has not had that
// memory before, the kernel then maps its own page of zeros, and a moment later, when the pointer
// is written, it maps another one and makes all processors forget the first.
func touch[E any](made []E) {
	const page = 4096 // bytes; where pages are larger, some are touched more than once
	size := uintptr(len(made)) * unsafe.Sizeof(*new(E))
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(made))), size)
	for i := uintptr(0); i < size; i += page {
		bytes[i] = 0
	}
}
