// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// A list whose objects are all of another type is a few reports, and how many there are.
func TestListOfAnotherType(t *testing.T) {
	for _, count := range []int{1, 10, 11, 1000} {
		for _, initial := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%v", count, initial), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testListOfAnotherType(t, count, initial) })
			})
		}
	}
}

func testListOfAnotherType(t *testing.T, count int, initial bool) {
	list := &informer.ObjectList[informer.Object]{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
	w := &infWatch{events: make(chan watch.Event, count+2), done: make(chan struct{})}
	send := func(obj informer.Object) {
		list.Items = append(list.Items, obj)
		w.events <- watch.Event{Type: watch.Added, Object: obj}
	}
	send(infObj("a@9"))
	for n := range count {
		send(&secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", n)}})
	}
	marker := infObj("@10")
	marker.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	w.events <- watch.Event{Type: watch.Bookmark, Object: marker}
	source := &informer.ListWatch{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
		WatchFunc: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if !initial {
				return &infWatch{events: make(chan watch.Event), done: make(chan struct{})}, nil
			}
			return w, nil
		},
		NoWatchList: !initial,
	}
	errs, options := &infErrors{}, informer.Options[infObject]{}
	options.Name, options.OnError = "things", errs.add
	i := informer.New(source, options)
	r := infStart(t, i)
	defer r.end()
	if i.Store().Len() != 1 || !i.HasSynced() {
		t.Errorf("%d objects, synced: %v", i.Store().Len(), i.HasSynced())
	}
	single, more := min(count, 10), count-10
	if got := errs.of("of another type: "); len(got) != single {
		t.Errorf("%d reports of one object, want %d", len(got), single)
	}
	rest := errs.of("more objects left out")
	if len(rest) != min(max(more, 0), 1) || len(errs.all) != single+len(rest) || !errors.Is(errs.all[len(errs.all)-1], informer.ErrWrongType) {
		t.Fatalf("told %v", errs.all)
	}
	if more > 0 && !strings.HasPrefix(rest[0], fmt.Sprintf("list things: %d more objects left out: ", more)) {
		t.Errorf("told %q", rest)
	}
}

// What a list that began again has left out is not counted twice.
func TestListOfAnotherTypeBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := func(count int, token string) *informer.ObjectList[informer.Object] {
			list := &informer.ObjectList[informer.Object]{ListMeta: metav1.ListMeta{ResourceVersion: "10", Continue: token}}
			for n := range count {
				list.Items = append(list.Items, &secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", n)}})
			}
			return list
		}
		source := &informer.ListWatch{
			ListFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
				switch {
				case options.Continue != "":
					return nil, apierrors.NewResourceExpired("the token is too old")
				case options.Limit > 0:
					return page(12, "next"), nil
				}
				return page(15, ""), nil
			},
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return &infWatch{events: make(chan watch.Event), done: make(chan struct{})}, nil
			},
			NoWatchList: true,
		}
		errs, options := &infErrors{}, informer.Options[infObject]{}
		options.Name, options.OnError, options.PageSize = "things", errs.add, 12
		r := infStart(t, informer.New(source, options))
		defer r.end()
		if got := errs.of("of another type: "); len(got) != 10 {
			t.Errorf("%d reports of one object, want 10", len(got))
		}
		if rest := errs.of("more objects left out"); len(rest) != 1 || !strings.Contains(rest[0], ": 5 more objects left out: ") {
			t.Errorf("told %q, want 5 more", rest)
		}
	})
}
