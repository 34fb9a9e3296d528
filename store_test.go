// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/types"
)

var (
	_ informer.Sink[storeObject]         = (*informer.Store[storeObject])(nil)
	_ informer.Bookmarker                = (*informer.Store[storeObject])(nil)
	_ informer.KnownObjects[storeObject] = (*informer.Store[storeObject])(nil)
	_ informer.KnownObjects[storeObject] = informer.View[storeObject]{}
)

// storeText returns keys and versions, sorted, with the store's version at the end.
func storeText(s *informer.Store[storeObject]) string {
	var text []string
	for key, obj := range s.All() {
		text = append(text, key+"@"+obj.ResourceVersion)
	}
	slices.Sort(text)
	return strings.Join(append(text, ":"+s.ResourceVersion()), " ")
}

func wantStore(t *testing.T, s *informer.Store[storeObject], want string) {
	t.Helper()
	if got := storeText(s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := informer.CheckStore(s); err != nil {
		t.Error(err)
	}
}

func storeWithUID(obj storeObject, uid types.UID) storeObject {
	obj.UID = uid
	return obj
}

func TestStoreEvents(t *testing.T) {
	ctx := t.Context()
	s := newLabelStore()
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return s.Add(ctx, newStoreObject("a", "5")) }, "ns/a@5 :5"},
		{func() error { return s.Update(ctx, newStoreObject("b", "6")) }, "ns/a@5 ns/b@6 :6"},
		{func() error { return s.Add(ctx, newStoreObject("a", "")) }, "ns/a@ ns/b@6 :6"},
		{func() error { return s.Bookmark(ctx, "20") }, "ns/a@ ns/b@6 :20"},
		{func() error { return s.Bookmark(ctx, "") }, "ns/a@ ns/b@6 :20"},
		{func() error { return s.Update(ctx, newStoreObject("a", "9")) }, "ns/a@9 ns/b@6 :20"},
		{func() error { return s.Delete(ctx, storeWithUID(newStoreObject("a", "21"), "other")) }, "ns/a@9 ns/b@6 :21"},
		{func() error { return s.Delete(ctx, newStoreObject("a", "6")) }, "ns/b@6 :21"},
		{func() error { return s.Delete(ctx, newStoreObject("a", "22")) }, "ns/b@6 :22"},
		{func() error { return s.Delete(ctx, storeWithUID(newStoreObject("b", "23"), "")) }, ":23"},
		{func() error { return s.Add(ctx, newStoreObject("c", "opaque")) }, "ns/c@opaque :opaque"},
		{func() error { return s.Add(ctx, newStoreObject("c", "7")) }, "ns/c@7 :7"},
	}
	for i, step := range steps {
		if err := step.do(); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		wantStore(t, s, step.want)
	}
	if s.HasSynced() {
		t.Error("events alone are no sync")
	}
}

func TestStoreObjectErrors(t *testing.T) {
	boom := errors.New("boom")
	s := informer.NewStore(informer.StoreOptions[storeObject]{Transform: func(obj storeObject) (storeObject, error) {
		switch obj.Name {
		case "boom":
			return nil, boom
		case "nil":
			return nil, nil
		case "renamed":
			obj.Name = "other"
		}
		return obj, nil
	}})
	for name, want := range map[string]string{
		"boom": "ns/boom", "nil": "ns/nil", "renamed": "ns/renamed", "": "",
	} {
		err := s.Add(t.Context(), newStoreObject(name, "3"))
		var object *informer.ObjectError
		if !errors.As(err, &object) || object.Key != want || object.ResourceVersion != "3" || object.UID != types.UID("uid-"+name) {
			t.Errorf("%q: %#v", name, err)
		}
		if name == "boom" && !errors.Is(err, boom) {
			t.Errorf("%v does not wrap the transform's error", err)
		}
	}
	var object *informer.ObjectError
	if err := s.Add(t.Context(), nil); !errors.As(err, &object) {
		t.Errorf("nil object: %v", err)
	}
	if err := s.Delete(t.Context(), nil); !errors.As(err, &object) {
		t.Errorf("delete of a nil object: %v", err)
	}
	if err := s.Apply(informer.Deltas[storeObject]{{Type: informer.DeltaAdded, Key: "ns/a"}}); !errors.As(err, &object) || object.Key != "ns/a" {
		t.Errorf("delta without an object: %v", err)
	}
	wantStore(t, s, ":")
	if err := s.Delete(t.Context(), newStoreObject("boom", "9")); err != nil {
		t.Errorf("a delete needs no transform: %v", err)
	}
}

func TestStoreIndexErrors(t *testing.T) {
	bad := errors.New("bad")
	index := func(obj storeObject) ([]string, error) {
		if obj.Name == "b" {
			return []string{"x"}, bad
		}
		if _, ok := obj.Labels["panic"]; ok {
			panic("secret")
		}
		return []string{"x", "x", obj.Name}, nil
	}
	s := newLabelStore(newStoreObject("a", "1"), newStoreObject("b", "2"))
	err := s.AddIndexers(informer.Indexers[storeObject]{"name": index})
	var failed *informer.IndexError
	if !errors.As(err, &failed) || failed.Index != "name" || failed.Key != "ns/b" || !errors.Is(err, bad) {
		t.Errorf("AddIndexers: %v", err)
	}
	if got := storeKeys(t, s, "name", "x"); got != "ns/a" {
		t.Errorf("x: %q", got)
	}
	err = s.Update(t.Context(), newStoreObject("a", "3", "panic"))
	var panicked *informer.PanicError
	if !errors.As(err, &failed) || failed.Key != "ns/a" || !errors.As(err, &panicked) || len(panicked.Stack) == 0 {
		t.Errorf("Update: %v", err)
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message holds the panic's value: %v", err)
	}
	if values, _ := s.IndexValues("name"); len(values) != 0 {
		t.Errorf("ghosts: %q", values)
	}
	wantStoreKeys(t, s, "panic", "ns/a") // the other index has it
	wantStore(t, s, "ns/a@3 ns/b@2 :3")
	if err := s.Update(t.Context(), newStoreObject("a", "4")); err != nil {
		t.Error(err)
	}
	if got := storeKeys(t, s, "name", "a"); got != "ns/a" {
		t.Errorf("a: %q", got)
	}
}

// A panic without a value, as GODEBUG can have it, is a panic: the function is called once.
func TestIndexFuncPanicsWithNothing(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	calls := 0
	s := informer.NewStore(informer.StoreOptions[storeObject]{Indexers: informer.Indexers[storeObject]{
		"odd": func(storeObject) ([]string, error) {
			if calls++; calls == 1 {
				panic(nil)
			}
			return nil, nil
		},
	}})
	err := s.Add(t.Context(), newStoreObject("a", "1"))
	if _, ok := errors.AsType[*informer.PanicError](err); !ok || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestStoreIdentity(t *testing.T) {
	blank := func(obj storeObject) (storeObject, error) {
		if obj.Name == "plain" {
			return obj, nil
		}
		out := obj.DeepCopy()
		out.UID, out.ResourceVersion, out.Labels = "", "", nil
		return out, nil
	}
	s := informer.NewStore(informer.StoreOptions[storeObject]{Transform: blank})
	names := []string{"plain", "a", "b", "c"}
	for i, name := range names {
		_ = s.Add(t.Context(), newStoreObject(name, fmt.Sprint(i+1)))
	}
	_ = s.Delete(t.Context(), newStoreObject("a", "9")) // its row is taken by another
	for i, name := range names {
		version, uid, ok := s.Identity("ns/" + name)
		if want := name != "a"; ok != want || ok && (version != fmt.Sprint(i+1) || uid != types.UID("uid-"+name)) {
			t.Errorf("%s: %q %q %v", name, version, uid, ok)
		}
	}
	if obj, _ := s.Get("ns/b"); obj.ResourceVersion != "" {
		t.Errorf("the stored object has version %q", obj.ResourceVersion)
	}
}

func TestStoreApply(t *testing.T) {
	type delta = informer.Delta[storeObject]
	add := func(version, uid string) delta {
		return delta{Type: informer.DeltaUpdated, Key: "ns/a", Object: newStoreObject("a", version), ResourceVersion: version, UID: types.UID(uid)}
	}
	del := func(uid string) delta { return delta{Type: informer.DeltaDeleted, Key: "ns/a", UID: types.UID(uid)} }
	sync := delta{Type: informer.DeltaSync, Key: "ns/a", Object: newStoreObject("a", "1")}
	tests := []struct {
		name   string
		deltas informer.Deltas[storeObject]
		want   string // version and UID; "": gone
	}{
		{"none", nil, "1 u1"},
		{"newest", informer.Deltas[storeObject]{add("2", "u1"), add("3", "u1")}, "3 u1"},
		{"sync alone", informer.Deltas[storeObject]{sync}, "1 u1"},
		{"sync behind", informer.Deltas[storeObject]{add("2", "u1"), sync}, "2 u1"},
		{"sync behind a delete", informer.Deltas[storeObject]{del("u1"), sync}, ""},
		{"delete", informer.Deltas[storeObject]{add("2", "u1"), del("u1")}, ""},
		{"delete without UID", informer.Deltas[storeObject]{del("")}, ""},
		{"delete of another", informer.Deltas[storeObject]{del("u0")}, "1 u1"},
		{"delete of another than the queued", informer.Deltas[storeObject]{add("2", "u2"), del("u1")}, "2 u2"},
		{"recreated and deleted", informer.Deltas[storeObject]{add("2", "u2"), del("u2")}, ""},
		{"two deletes", informer.Deltas[storeObject]{del("u1"), del("u2")}, ""},
		{"recreated", informer.Deltas[storeObject]{del("u1"), add("2", "u2")}, "2 u2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newLabelStore(storeWithUID(newStoreObject("a", "1"), "u1"))
			if err := s.Apply(test.deltas); err != nil {
				t.Fatal(err)
			}
			got := ""
			if version, uid, ok := s.Identity("ns/a"); ok {
				got = version + " " + string(uid)
			}
			if got != test.want || s.ResourceVersion() != "1" {
				t.Errorf("got %q at %q, want %q", got, s.ResourceVersion(), test.want)
			}
		})
	}
}

func TestStoreOfWords(t *testing.T) {
	s := informer.NewStore(informer.StoreOptions[string]{
		KeyFunc:  func(word string) (string, error) { return word[:1], nil },
		Indexers: informer.Indexers[string]{"length": func(word string) ([]string, error) { return []string{fmt.Sprint(len(word))}, nil }},
	})
	for _, word := range []string{"one", "two", "three", "four"} {
		if err := s.Add(t.Context(), word); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Replace(t.Context(), []string{"one", "four", "six"}, "7"); err != nil {
		t.Fatal(err)
	}
	words, _ := s.ByIndex("length", "3")
	slices.Sort(words)
	if got := fmt.Sprintf("%v %d %s %v", words, s.Len(), s.View().ResourceVersion(), s.HasSynced()); got != "[one six] 3 7 true" {
		t.Error(got)
	}
	if version, uid, ok := s.Identity("o"); version != "" || uid != "" || !ok {
		t.Errorf("identity of a word: %q %q %v", version, uid, ok)
	}
}

func TestNewStorePanics(t *testing.T) {
	for want, build := range map[string]func(){
		"informer: NewStore[string]: ": func() { informer.NewStore(informer.StoreOptions[string]{}) },
		"informer: NewStore[*v1.PartialObjectMetadata]: ": func() {
			informer.NewStore(informer.StoreOptions[storeObject]{Indexers: informer.Indexers[storeObject]{"x": nil}})
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, want) {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			build()
		}()
	}
}

func TestStoreReadsInCallbacks(t *testing.T) {
	var s *informer.Store[storeObject]
	seen := 0
	s = informer.NewStore(informer.StoreOptions[storeObject]{Indexers: informer.Indexers[storeObject]{
		"reads": func(obj storeObject) ([]string, error) { seen = s.Len(); return nil, nil },
	}})
	_ = s.Add(t.Context(), newStoreObject("a", "1"))
	_ = s.Add(t.Context(), newStoreObject("b", "2"))
	if seen != 1 {
		t.Errorf("an index function saw %d objects, want those before the change", seen)
	}
	for key := range s.All() {
		if err := s.Delete(context.Background(), newStoreObject(strings.TrimPrefix(key, "ns/"), "3")); err != nil {
			t.Error(err)
		}
	}
	wantStore(t, s, ":3")
}

// TestStoreHammer has readers check that every state they see is whole: each round moves
// all objects to another value, at one version (P4).
func TestStoreHammer(t *testing.T) {
	const n, rounds = 700, 30 // more than a chunk, and enough for a fork
	s := newLabelStore()
	round := func(i int) []storeObject {
		objects := make([]storeObject, n)
		for j := range objects {
			objects[j] = newStoreObject(fmt.Sprint(j), fmt.Sprint(i), fmt.Sprint("round", i))
		}
		return objects
	}
	if err := s.Replace(t.Context(), round(0), "0"); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !done.Load() {
				versions := map[string]int{}
				for _, obj := range s.List() {
					versions[obj.ResourceVersion]++
				}
				if len(versions) != 1 {
					t.Errorf("a state with versions %v", versions)
					return
				}
				for version := range versions {
					if objects, err := s.ByIndex("label", "round"+version); err != nil || len(objects) != 0 && len(objects) != n {
						t.Errorf("%d objects of round %s, %v", len(objects), version, err)
					}
				}
				s.Get("ns/1")
				s.Keys()
			}
		})
	}
	for i := range rounds {
		if err := s.Replace(t.Context(), round(i+1), fmt.Sprint(i+1)); err != nil {
			t.Error(err)
		}
	}
	done.Store(true)
	readers.Wait()
	if err := informer.CheckStore(s); err != nil {
		t.Error(err)
	}
}

// A query for several values has each object once, although objects move between them.
func TestStoreByIndexValues(t *testing.T) {
	t.Parallel()
	type item struct{ key, value string }
	s := informer.NewStore(informer.StoreOptions[item]{
		KeyFunc:  func(i item) (string, error) { return i.key, nil },
		Indexers: informer.Indexers[item]{"value": func(i item) ([]string, error) { return strings.Split(i.value, ","), nil }},
	})
	put := func(value string) {
		if err := s.Add(t.Context(), item{"moving", value}); err != nil {
			t.Error(err)
		}
	}
	put("x")
	if err := s.Add(t.Context(), item{"both", "x,y"}); err != nil {
		t.Fatal(err)
	}
	var moves sync.WaitGroup
	moves.Go(func() {
		for range 2000 {
			put("y")
			put("x")
		}
	})
	for range 2000 {
		if found, err := s.ByIndexValues("value", "x", "none", "y"); err != nil || len(found) != 2 {
			t.Fatalf("%v, %v", found, err)
		}
	}
	moves.Wait()
	if found, err := s.ByIndexValues("value"); err != nil || len(found) != 0 {
		t.Errorf("under no value: %v, %v", found, err)
	}
	if _, err := s.ByIndexValues("none", "x"); !errors.Is(err, informer.ErrUnknownIndex) {
		t.Errorf("unknown index: %v", err)
	}
}
