// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/informerkit/informer/informertest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestCreate(t *testing.T) {
	bubble(t, "what the server sets", func(t *testing.T) {
		k := newKit(t)
		given := newNote("a", "one")
		given.UID, given.CreationTimestamp = "mine", metav1.NewTime(time.Unix(1, 0))
		a, b := k.must(k.Create(t.Context(), given)), k.create("b")
		if a.UID == "" || a.UID == "mine" || a.UID == b.UID {
			t.Errorf("UIDs are %q and %q", a.UID, b.UID)
		}
		if !a.CreationTimestamp.Time.Equal(time.Now()) {
			t.Errorf("created at %v; want %v", a.CreationTimestamp, time.Now())
		}
		expect(t, "versions", a.ResourceVersion+" "+b.ResourceVersion+" "+k.ResourceVersion(), "2 3 3")
	})
	bubble(t, "generateName", func(t *testing.T) {
		k := newKit(t)
		for range 2 {
			n := k.must(k.Create(t.Context(), &note{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}))
			if !strings.HasPrefix(n.Name, "a-") || len(n.Name) != len("a-")+5 {
				t.Errorf("name is %q", n.Name)
			}
		}
		if k.Len() != 2 {
			t.Errorf("%d objects; want 2", k.Len())
		}
	})
	bubble(t, "seeds keep UID and time", func(t *testing.T) {
		seed := newNote("a", "one")
		seed.UID, seed.ResourceVersion = "u1", "77"
		c := informertest.NewCollection(t, seed)
		got, err := c.Get(t.Context(), "ns", "a")
		if err != nil || got.UID != "u1" || got.ResourceVersion != "2" {
			t.Errorf("got %v, %v", got, err)
		}
		if seed.ResourceVersion != "77" {
			t.Error("the caller's object was changed")
		}
	})
	t.Run("two seeds of one key", func(t *testing.T) {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		informertest.NewCollection(nil, newNote("a", "one"), newNote("a", "two"))
	})
}

func TestWriteErrors(t *testing.T) {
	k := newKit(t, "a")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	stale, other, versioned := newNote("a", "x"), newNote("a", "x"), newNote("b", "x")
	stale.ResourceVersion, other.UID, versioned.ResourceVersion = "1", "of another", "5"
	create := func(n *note) error { _, err := k.Create(t.Context(), n); return err }
	update := func(n *note) error { _, err := k.Update(t.Context(), n); return err }
	get := func(name string) error { _, err := k.Get(t.Context(), "ns", name); return err }
	for _, test := range []struct {
		name string
		err  error
		is   func(error) bool
	}{
		{"create what exists", create(newNote("a", "x")), apierrors.IsAlreadyExists},
		{"create without name", create(&note{}), apierrors.IsInvalid},
		{"create with version", create(versioned), func(err error) bool { return codeOf(err) == http.StatusInternalServerError }},
		{"update what is not there", update(newNote("b", "x")), apierrors.IsNotFound},
		{"update a stale version", update(stale), apierrors.IsConflict},
		{"update another UID", update(other), apierrors.IsConflict},
		{"delete what is not there", k.Delete(t.Context(), "ns", "b"), apierrors.IsNotFound},
		{"get what is not there", get("b"), apierrors.IsNotFound},
		{"ctx ended", k.Delete(ended, "ns", "a"), func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		if !test.is(test.err) {
			t.Errorf("%s: %v", test.name, test.err)
		}
	}
	expect(t, "objects after all that", names(k.list(metav1.ListOptions{})), "a=one@2")
}

func codeOf(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

func TestUpdateAndDelete(t *testing.T) {
	bubble(t, "update keeps what is the server's", func(t *testing.T) {
		k := newKit(t, "a")
		before := k.list(metav1.ListOptions{}).Items[0]
		after := k.update("a", "two")
		if after.UID != before.UID || !after.CreationTimestamp.Equal(&before.CreationTimestamp) || after.Text != "two" {
			t.Errorf("got %v", after)
		}
		before.Text = "three"
		if _, err := k.Update(t.Context(), before); !apierrors.IsConflict(err) {
			t.Errorf("update of an old version: %v", err)
		}
	})
	bubble(t, "finalizers", func(t *testing.T) {
		k := newKit(t)
		held := newNote("a", "one")
		held.Finalizers = []string{"example.com/hold"}
		held = k.must(k.Create(t.Context(), held))
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: held.ResourceVersion})
		k.delete("a")
		k.delete("a") // is being deleted already
		marked := k.must(k.Get(t.Context(), "ns", "a"))
		if marked.DeletionTimestamp == nil {
			t.Error("no deletion timestamp")
		}
		marked.Finalizers = nil
		k.must(k.Update(t.Context(), marked))
		expect(t, "events", drain(w), "~a=one@3 -a=one@4")
		if k.Len() != 0 {
			t.Error("the object is still there")
		}
	})
	bubble(t, "deleted and created again", func(t *testing.T) {
		k := newKit(t, "a", "b")
		k.delete("a")
		k.create("a")
		k.delete("b")
		k.create("c")
		k.delete("c")
		expect(t, "list", names(k.list(metav1.ListOptions{})), "a=one@5")
	})
	bubble(t, "unstructured objects get the kind of their collection", func(t *testing.T) {
		first := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Note", "metadata": map[string]any{"name": "a"},
		}}
		c := informertest.NewCollection(t, first)
		second, err := c.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "b"}}})
		if err != nil || second.GetKind() != "Note" || second.GetAPIVersion() != "v1" {
			t.Errorf("got %v, %v", second, err)
		}
		if _, err := c.Get(t.Context(), "", "c"); err == nil || err.Error() != `notes "c" not found` {
			t.Errorf("error is %v", err)
		}
	})
}
