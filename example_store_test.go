// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A store with an index, filled by hand as a unit test of a lister would.
func ExampleStore() {
	type config = *metav1.PartialObjectMetadata
	byTeam := func(obj config) ([]string, error) { return []string{obj.Labels["team"]}, nil }
	object := func(name, team string) config {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{"team": team},
		}}
	}

	store := informer.NewStore(informer.StoreOptions[config]{
		Indexers: informer.Indexers[config]{"team": byTeam},
	})
	list := []config{object("a", "red"), object("b", "blue"), object("c", "red")}
	if err := store.Replace(context.Background(), list, "12"); err != nil {
		fmt.Println(err)
	}

	view := store.View() // reads, and cannot write
	red, _ := view.IndexKeys("team", "red")
	slices.Sort(red)
	fmt.Println(red)
	_, ok := view.Get("default/b")
	fmt.Println(ok, view.Len(), view.ResourceVersion(), view.HasSynced())
	_, err := view.ByIndex("owner", "x")
	fmt.Println(errors.Is(err, informer.ErrUnknownIndex))
	// Output:
	// [default/a default/c]
	// true 3 12 true
	// true
}

// A store of values that are not API objects needs a key function, and nothing else.
func ExampleNewStore_keyFunc() {
	words := informer.NewStore(informer.StoreOptions[string]{
		KeyFunc: func(word string) (string, error) { return word, nil },
		Indexers: informer.Indexers[string]{
			"initial": func(word string) ([]string, error) { return []string{word[:1]}, nil },
		},
	})
	for _, word := range []string{"cache", "list", "client"} {
		_ = words.Add(context.Background(), word)
	}
	found, _ := words.ByIndex("initial", "c")
	slices.Sort(found)
	fmt.Println(found)
	// Output: [cache client]
}
