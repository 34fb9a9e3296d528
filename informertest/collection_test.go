// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// note is a typed object with content.
type note struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Text              string `json:"text,omitempty"`
}

func (n *note) DeepCopyObject() runtime.Object {
	return &note{TypeMeta: n.TypeMeta, ObjectMeta: *n.ObjectMeta.DeepCopy(), Text: n.Text}
}

func newNote(name, text string) *note {
	return &note{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"text": text}}, Text: text}
}

// bubble runs a test on fake time.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// kit is a collection and what the tests do with it; every error ends the test.
type kit struct {
	*testing.T
	*informertest.Collection[*note]
}

func newKit(t *testing.T, names ...string) kit {
	var notes []*note
	for _, name := range names {
		notes = append(notes, newNote(name, "one"))
	}
	return kit{T: t, Collection: informertest.NewCollection(t, notes...)}
}

func (k kit) create(name string) *note {
	k.Helper()
	return k.must(k.Create(k.Context(), newNote(name, "one")))
}

func (k kit) update(name, text string) *note {
	k.Helper()
	return k.must(k.Update(k.Context(), newNote(name, text)))
}

func (k kit) delete(name string) {
	k.Helper()
	if err := k.Delete(k.Context(), "ns", name); err != nil {
		k.Fatal(err)
	}
}

func (k kit) must(n *note, err error) *note {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
	return n
}

func (k kit) list(options metav1.ListOptions) *informer.ObjectList[*note] {
	k.Helper()
	list, err := k.List(k.Context(), options)
	if err != nil {
		k.Fatalf("list %v: %v", options, err)
	}
	return list.(*informer.ObjectList[*note])
}

// names writes a list as "a=one@2 b=one@3".
func names(list *informer.ObjectList[*note]) string {
	var out []string
	for _, n := range list.Items {
		out = append(out, fmt.Sprintf("%s=%s@%s", n.Name, n.Text, n.ResourceVersion))
	}
	return strings.Join(out, " ")
}

func (k kit) watch(ctx context.Context, options metav1.ListOptions) watch.Interface {
	k.Helper()
	w, err := k.Watch(ctx, options)
	if err != nil {
		k.Fatalf("watch %v: %v", options, err)
	}
	k.Cleanup(w.Stop)
	return w
}

// drain returns what has arrived, written as "+a=one@2 ~a=two@3 -a=two@4 BM@5 BM*@5 ERR410", and "|" at the end of
// the stream.
func drain(w watch.Interface) string {
	var out []string
	for {
		synctest.Wait()
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return strings.Join(append(out, "|"), " ")
			}
			out = append(out, written(e))
		default:
			return strings.Join(out, " ")
		}
	}
}

func written(e watch.Event) string {
	sign := map[watch.EventType]string{watch.Added: "+", watch.Modified: "~", watch.Deleted: "-"}
	switch obj := e.Object.(type) {
	case *metav1.Status:
		return fmt.Sprintf("ERR%d", obj.Code)
	case *note:
		if e.Type != watch.Bookmark {
			return fmt.Sprintf("%s%s=%s@%s", sign[e.Type], obj.Name, obj.Text, obj.ResourceVersion)
		}
		mark := ""
		if maps.Equal(obj.Annotations, map[string]string{metav1.InitialEventsAnnotationKey: "true"}) {
			mark = "*"
		}
		return fmt.Sprintf("BM%s@%s", mark, obj.ResourceVersion)
	}
	return fmt.Sprintf("%s %T", e.Type, e.Object)
}

func expect(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q; want %q", what, got, want)
	}
}

func TestCollectionBasics(t *testing.T) {
	bubble(t, "list and watch", func(t *testing.T) {
		k := newKit(t, "b", "a")
		list := k.list(metav1.ListOptions{})
		expect(t, "list", names(list), "a=one@3 b=one@2")
		expect(t, "version", list.ResourceVersion, "3")
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "2"})
		k.create("c")
		k.update("a", "two")
		k.update("a", "two") // changes nothing
		k.delete("b")
		expect(t, "watch", drain(w), "+a=one@3 +c=one@4 ~a=two@5 -b=one@6")
		w.Stop()
		expect(t, "watch after Stop", drain(w), "|")
	})
	bubble(t, "watch-list", func(t *testing.T) {
		k := newKit(t, "b", "a")
		initial := true
		w := k.watch(t.Context(), metav1.ListOptions{
			SendInitialEvents: &initial, AllowWatchBookmarks: true,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		expect(t, "initial events", drain(w), "+a=one@3 +b=one@2 BM*@3")
	})
	bubble(t, "paging", func(t *testing.T) {
		k := newKit(t, "a", "b", "c")
		first := k.list(metav1.ListOptions{Limit: 2})
		k.create("d")
		second := k.list(metav1.ListOptions{Limit: 2, Continue: first.Continue})
		expect(t, "pages", names(first)+" | "+names(second), "a=one@2 b=one@3 | c=one@4")
		if first.RemainingItemCount == nil || *first.RemainingItemCount != 1 || second.Continue != "" {
			t.Errorf("remaining %v, second token %q", first.RemainingItemCount, second.Continue)
		}
	})
	bubble(t, "objects are copied", func(t *testing.T) {
		k := newKit(t, "a")
		k.list(metav1.ListOptions{}).Items[0].Labels["text"] = "spoilt"
		if got := slices.Collect(maps.Values(k.list(metav1.ListOptions{}).Items[0].Labels)); !slices.Equal(got, []string{"one"}) {
			t.Errorf("labels are %q", got)
		}
	})
}
