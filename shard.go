// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"math/bits"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
)

// Shard is one of Count equal parts of a collection, by a hash of the UID. The zero value
// is the whole. The parts with Index 0 to Count-1 make up the collection, and no object is
// in two of them.
//
// The hash is the 64-bit FNV-1a of package sharding of apimachinery. A server with the
// feature ShardedListAndWatch sends the part alone, any other one sends everything; this
// side cuts it out in both cases. SourceStatus.ServerShard says which it is.
type Shard struct {
	Index       int  // from 0 to Count-1
	Count       int  // 0: the whole, and Index is 0 too
	ByNamespace bool // hash the namespace instead of the UID, so that a namespace stays together
}

// check returns what is wrong with a shard.
func (s Shard) check() error {
	if s.Count == 0 && s.Index == 0 || s.Count > 0 && s.Index >= 0 && s.Index < s.Count {
		return nil
	}
	return fmt.Errorf("informer: shard %d of %d: want an Index from 0 to Count-1", s.Index, s.Count)
}

// whole reports whether the shard is all there is.
func (s Shard) whole() bool { return s.Count <= 1 }

// start returns the first hash of the part; that of the part after the last one is 2⁶⁴,
// which is 0 here.
func (s Shard) start(index int) uint64 {
	if index == s.Count {
		return 0
	}
	start, _ := bits.Div64(uint64(index), 0, uint64(s.Count)) // of index·2⁶⁴
	return start
}

// selector is the part as ListOptions.ShardSelector has it, "" for the whole.
func (s Shard) selector() string {
	if s.whole() {
		return ""
	}
	return s.selection().String()
}

// selection is the part in the words of apimachinery.
func (s Shard) selection() sharding.Selector {
	field, end := "object.metadata.uid", "0x10000000000000000"
	if s.ByNamespace {
		field = "object.metadata.namespace"
	}
	if s.Index+1 < s.Count {
		end = fmt.Sprintf("0x%016x", s.start(s.Index+1))
	}
	return sharding.NewSelector(sharding.ShardRangeRequirement{
		Key: field, Start: fmt.Sprintf("0x%016x", s.start(s.Index)), End: end,
	})
}

// holds reports whether an object belongs to the part. It says what the selector of
// package sharding says, without the strings that this makes for each object.
func (s Shard) holds(namespace string, uid types.UID) bool {
	if s.whole() {
		return true
	}
	value := string(uid)
	if s.ByNamespace {
		value = namespace
	}
	hash := fnv1a(value)
	return hash >= s.start(s.Index) && (s.Index+1 == s.Count || hash < s.start(s.Index+1))
}

func (s Shard) holdsObject(m metav1.Object) bool { return s.holds(m.GetNamespace(), m.GetUID()) }

// fnv1a is the 64-bit hash of the sharding protocol; the constants are those of FNV.
func fnv1a(value string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(value) {
		hash = (hash ^ uint64(value[i])) * 1099511628211
	}
	return hash
}

// rescope says that a list covers another part of the collection than what it replaces.
type rescope struct{ from, to Shard }

// moved reports whether an object is in one of the parts only.
func (r *rescope) moved(namespace string, uid types.UID) bool {
	return r != nil && r.from.holds(namespace, uid) != r.to.holds(namespace, uid)
}
