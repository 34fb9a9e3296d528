// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// This side cuts out what the package sharding of apimachinery does.
func TestShardHoldsWhatItsSelectorMatches(t *testing.T) {
	for _, count := range []int{2, 3, 4, 7, 100} {
		for n := range 300 {
			obj := &metav1.PartialObjectMetadata{}
			obj.Namespace, obj.UID = fmt.Sprint("ns", n), types.UID(fmt.Sprintf("5b1c-%d", n*n))
			for _, by := range []bool{false, true} {
				held := 0
				for index := range count {
					shard := Shard{Index: index, Count: count, ByNamespace: by}
					want, err := shard.selection().Matches(obj)
					got := shard.holdsObject(obj)
					if err != nil || got != want {
						t.Fatalf("%+v holds %s: %v, %s says %v, %v", shard, obj.UID, got, shard.selector(), want, err)
					}
					if got {
						held++
					}
				}
				if held != 1 {
					t.Fatalf("%s is in %d of the parts", obj.UID, held)
				}
			}
		}
	}
}
