// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const storeBenchSize = 100_000

// storeBenchObjects are in 50 namespaces and on 500 nodes.
func storeBenchObjects(version int) []storeObject {
	objects := make([]storeObject, storeBenchSize)
	for i := range objects {
		objects[i] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace:       fmt.Sprintf("namespace-%d", i%50),
			Name:            fmt.Sprintf("pod-%06d", i),
			UID:             types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)),
			ResourceVersion: fmt.Sprint(version + i),
			GenerateName:    fmt.Sprintf("node-%d", i%500),
		}}
	}
	return objects
}

func newBenchStore(b *testing.B, objects []storeObject) *informer.Store[storeObject] {
	s := informer.NewStore(informer.StoreOptions[storeObject]{Indexers: informer.Indexers[storeObject]{
		informer.NamespaceIndex: informer.IndexByNamespace[storeObject],
		"node":                  func(obj storeObject) ([]string, error) { return []string{obj.GenerateName}, nil },
	}})
	if err := s.Replace(b.Context(), objects, "1"); err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkStoreGet(b *testing.B) {
	s := newBenchStore(b, storeBenchObjects(1))
	keys := s.Keys()
	for i := range keys { // not in the order of the rows
		j := i * 7919 % len(keys)
		keys[i], keys[j] = keys[j], keys[i]
	}
	b.Run("one", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			s.Get(keys[i%len(keys)])
		}
	})
	b.Run("many", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				s.Get(keys[i%len(keys)])
			}
		})
	})
}

func BenchmarkStoreRead(b *testing.B) {
	s := newBenchStore(b, storeBenchObjects(1))
	for name, read := range map[string]func(){
		"List":         func() { s.List() },
		"Keys":         func() { s.Keys() },
		"ByIndex/2000": func() { _, _ = s.ByIndex(informer.NamespaceIndex, "namespace-7") },
		"ByIndex/200":  func() { _, _ = s.ByIndex("node", "node-7") },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
		})
	}
}

func BenchmarkStoreUpdate(b *testing.B) {
	next := storeBenchObjects(storeBenchSize)
	update := func(b *testing.B, s *informer.Store[storeObject]) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_ = s.Update(b.Context(), next[i*7919%len(next)])
		}
	}
	b.Run("alone", func(b *testing.B) { update(b, newBenchStore(b, storeBenchObjects(1))) })
	b.Run("beside-4-listers", func(b *testing.B) {
		s := newBenchStore(b, storeBenchObjects(1))
		var done atomic.Bool
		var listers sync.WaitGroup
		for range 4 {
			listers.Go(func() {
				for !done.Load() {
					s.List()
				}
			})
		}
		update(b, s)
		done.Store(true)
		listers.Wait()
	})
}

func BenchmarkStoreReplace(b *testing.B) {
	old, changed := storeBenchObjects(1), storeBenchObjects(storeBenchSize)
	b.Run("changed", func(b *testing.B) {
		s := newBenchStore(b, old)
		for i := 0; b.Loop(); i++ {
			_ = s.Replace(b.Context(), [][]storeObject{changed, old}[i%2], "2")
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		s, same := newBenchStore(b, old), storeBenchObjects(1)
		for b.Loop() {
			_ = s.Replace(b.Context(), same, "2")
		}
	})
}

// BenchmarkStoreMemory reports what the store needs beside the objects.
func BenchmarkStoreMemory(b *testing.B) {
	objects := storeBenchObjects(1)
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := live()
		s := newBenchStore(b, objects)
		b.ReportMetric(float64(live()-before)/storeBenchSize, "B/object")
		runtime.KeepAlive(s)
	}
	runtime.KeepAlive(objects)
}
