// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

type storeObject = *metav1.PartialObjectMetadata

// newStoreObject returns ns/name; labels are the values of the index of storeByLabel.
func newStoreObject(name, version string, labels ...string) storeObject {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, ResourceVersion: version, UID: types.UID("uid-" + name), Labels: map[string]string{},
	}}
	for _, label := range labels {
		obj.Labels[label] = ""
	}
	return obj
}

func storeByLabel(obj storeObject) ([]string, error) {
	var values []string
	for label := range obj.Labels {
		values = append(values, label)
	}
	return values, nil
}

func newLabelStore(objects ...storeObject) *informer.Store[storeObject] {
	s := informer.NewStore(informer.StoreOptions[storeObject]{
		Indexers: informer.Indexers[storeObject]{"label": storeByLabel},
	})
	for _, obj := range objects {
		if err := s.Add(context.Background(), obj); err != nil {
			panic(err)
		}
	}
	return s
}

// storeKeys returns the keys that the index has under the value, sorted, as one string.
func storeKeys(t *testing.T, s interface {
	ByIndex(index, value string) ([]storeObject, error)
	IndexKeys(index, value string) ([]string, error)
}, index, value string) string {
	t.Helper()
	keys, err := s.IndexKeys(index, value)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := s.ByIndex(index, value)
	if err != nil {
		t.Fatal(err)
	}
	var of []string
	for _, obj := range objects {
		of = append(of, informer.JoinKey(obj.Namespace, obj.Name))
	}
	slices.Sort(keys)
	slices.Sort(of)
	if !slices.Equal(keys, of) {
		t.Errorf("%s=%s: keys %q, objects %q", index, value, keys, of)
	}
	return strings.Join(keys, " ")
}

func wantStoreKeys(t *testing.T, s *informer.Store[storeObject], value, want string) {
	t.Helper()
	if got := storeKeys(t, s, "label", value); got != want {
		t.Errorf("label %s: got %q, want %q", value, got, want)
	}
}

func casesStore(t *testing.T) {
	t.Run("X01", caseStoreValueAdded)
	t.Run("X02", caseStoreManyValues)
	t.Run("X03", caseStoreIndexAdded)
	t.Run("X04", caseStoreNilIndexers)
	t.Run("X05", caseStoreSharedIndexers)
	t.Run("X06", caseStoreReadWhileAdded)
	t.Run("Q10", caseStoreTombstone)
}

func caseStoreValueAdded(t *testing.T) {
	s := newLabelStore(newStoreObject("a", "1", "one"), newStoreObject("b", "2", "one"))
	_ = s.Update(t.Context(), newStoreObject("a", "3", "one", "two"))
	wantStoreKeys(t, s, "one", "ns/a ns/b")
	wantStoreKeys(t, s, "two", "ns/a")
	_ = s.Update(t.Context(), newStoreObject("a", "4", "two"))
	wantStoreKeys(t, s, "one", "ns/b")
	wantStoreKeys(t, s, "two", "ns/a")
}

func caseStoreManyValues(t *testing.T) {
	s := newLabelStore(newStoreObject("stays", "1", "stays"))
	round := func(i int) {
		for j := range 100 {
			_ = s.Add(t.Context(), newStoreObject(fmt.Sprint("o", j), "2", fmt.Sprintf("v%d-%d", i, j), fmt.Sprintf("w%d", i)))
		}
		for j := range 100 {
			_ = s.Delete(t.Context(), newStoreObject(fmt.Sprint("o", j), "3"))
		}
		if values, err := s.IndexValues("label"); err != nil || !slices.Equal(values, []string{"stays"}) {
			t.Fatalf("round %d: %q, %v", i, values, err)
		}
	}
	round(0)
	// What is left after one round is all there ever is.
	buckets, free := informer.StoreBuckets(s, 0)
	for i := range 50 {
		round(i + 1)
	}
	if b, f := informer.StoreBuckets(s, 0); b > buckets || f > free {
		t.Errorf("%d buckets and %d free ones, after one round %d and %d", b, f, buckets, free)
	}
	if err := informer.CheckStore(s); err != nil {
		t.Error(err)
	}
}

func caseStoreIndexAdded(t *testing.T) {
	s := newLabelStore(newStoreObject("a", "1", "x"), newStoreObject("b", "2", "y"), newStoreObject("c", "3", "x"))
	first := func(obj storeObject) ([]string, error) { return []string{obj.Name[:1], "all"}, nil }
	err := s.AddIndexers(informer.Indexers[storeObject]{"first": first, "label": storeByLabel})
	var index *informer.IndexError
	if !errors.Is(err, informer.ErrExists) || !errors.As(err, &index) || index.Index != "label" {
		t.Errorf("a name that is taken: %v", err)
	}
	if err := s.AddIndexers(informer.Indexers[storeObject]{"first": first, "none": nil}); !errors.As(err, &index) || index.Index != "none" {
		t.Errorf("a nil function: %v", err)
	}
	if _, err := s.ByIndex("first", "a"); !errors.Is(err, informer.ErrUnknownIndex) {
		t.Errorf("after two calls that add nothing: %v", err)
	}
	if err := s.AddIndexers(informer.Indexers[storeObject]{"first": first}); err != nil {
		t.Fatal(err)
	}
	if got := storeKeys(t, s, "first", "all"); got != "ns/a ns/b ns/c" {
		t.Errorf("all: %q", got)
	}
	if got := storeKeys(t, s, "first", "b"); got != "ns/b" {
		t.Errorf("b: %q", got)
	}
	wantStoreKeys(t, s, "x", "ns/a ns/c")
}

func caseStoreNilIndexers(t *testing.T) {
	s := informer.NewStore(informer.StoreOptions[storeObject]{})
	_ = s.Add(t.Context(), newStoreObject("a", "1", "x"))
	if err := s.AddIndexers(nil); err != nil {
		t.Errorf("no indexers: %v", err)
	}
	if err := s.AddIndexers(informer.Indexers[storeObject]{"label": storeByLabel}); err != nil {
		t.Fatal(err)
	}
	_ = s.Add(t.Context(), newStoreObject("b", "2", "x"))
	wantStoreKeys(t, s, "x", "ns/a ns/b")
}

func caseStoreSharedIndexers(t *testing.T) {
	indexers := informer.Indexers[storeObject]{"label": storeByLabel}
	options := informer.StoreOptions[storeObject]{Indexers: indexers}
	s1, s2 := informer.NewStore(options), informer.NewStore(options)
	_ = s1.Add(t.Context(), newStoreObject("a", "1", "x"))
	_ = s2.Add(t.Context(), newStoreObject("b", "1", "x"))
	indexers["later"] = storeByLabel
	if err := s1.AddIndexers(informer.Indexers[storeObject]{"more": storeByLabel}); err != nil {
		t.Fatal(err)
	}
	wantStoreKeys(t, s1, "x", "ns/a")
	wantStoreKeys(t, s2, "x", "ns/b")
	var index *informer.IndexError
	if _, err := s2.IndexValues("more"); !errors.As(err, &index) || !slices.Equal(index.Known, []string{"label"}) {
		t.Errorf("the second store: %v", err)
	}
	if len(indexers) != 2 {
		t.Errorf("the caller's map: %d", len(indexers))
	}
}

func caseStoreReadWhileAdded(t *testing.T) {
	s := newLabelStore(newStoreObject("a", "1", "x"))
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 200 {
				if _, err := s.ByIndex("label", "x"); err != nil {
					t.Error(err)
				}
				// Not there, or complete.
				if objects, err := s.ByIndex("i50", "x"); err == nil && len(objects) != 1 {
					t.Errorf("an index with %d objects", len(objects))
				}
			}
		})
	}
	for i := range 100 {
		if err := s.AddIndexers(informer.Indexers[storeObject]{fmt.Sprint("i", i): storeByLabel}); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
}

func caseStoreTombstone(t *testing.T) {
	calls := 0
	s := informer.NewStore(informer.StoreOptions[storeObject]{KeyFunc: func(obj storeObject) (string, error) {
		calls++
		return informer.KeyOf(obj)
	}})
	_ = s.Add(t.Context(), newStoreObject("a", "1"))
	_ = s.Add(t.Context(), newStoreObject("b", "2"))
	calls = 0
	err := s.Apply(informer.Deltas[storeObject]{{Type: informer.DeltaDeleted, Key: "ns/a", FinalStateUnknown: true}})
	if err != nil || calls != 0 {
		t.Errorf("error %v, %d calls of the key function", err, calls)
	}
	if keys := s.Keys(); !slices.Equal(keys, []string{"ns/b"}) {
		t.Errorf("keys: %q", keys)
	}
}
