// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"slices"
	"sort"
)

// versionMark says that the write at this position had this version.
type versionMark struct {
	position uint64
	version  string
}

// versionMarks are the versions of writes that have not been completed, in order of
// position. Of several between which no key was queued anew, only the last is kept: they
// are completed together.
type versionMarks struct {
	marks []versionMark
	head  int
}

func (v *versionMarks) note(m versionMark, created uint64) {
	if n := len(v.marks); n > v.head && v.marks[n-1].position >= created {
		v.marks[n-1] = m
		return
	}
	v.marks = append(v.marks, m)
}

// before returns the index of the first mark at position or after it.
func (v *versionMarks) before(position uint64) int {
	return v.head + sort.Search(len(v.marks)-v.head, func(i int) bool {
		return v.marks[v.head+i].position >= position
	})
}

// peek returns the newest version before the position.
func (v *versionMarks) peek(position uint64) (string, bool) {
	i := v.before(position)
	if i == v.head {
		return "", false
	}
	return v.marks[i-1].version, true
}

// through returns the newest version before the position and forgets it and those before it.
func (v *versionMarks) through(position uint64) (string, bool) {
	version, ok := v.peek(position)
	if !ok {
		return "", false
	}
	v.head = v.before(position)
	switch {
	case v.head == len(v.marks) && cap(v.marks) > pileKeepSlots:
		v.marks, v.head = nil, 0
	case v.head == len(v.marks):
		v.marks, v.head = v.marks[:0], 0
	case v.head > pileKeepSlots/4 && v.head > len(v.marks)/2:
		v.marks, v.head = slices.Clone(v.marks[v.head:]), 0
	}
	return version, true
}
