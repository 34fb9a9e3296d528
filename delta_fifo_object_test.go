// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/informerkit/informer"
)

func TestDeltaFIFOPoison(t *testing.T) {
	bad := func(obj fifoObject) (fifoObject, error) {
		switch obj.Name {
		case "bad":
			return nil, errFifo
		case "nil":
			return nil, nil
		case "renamed":
			obj.Name = "other"
		case "moved":
			obj.Namespace = "other"
		}
		return obj, nil
	}
	key := func(obj fifoObject) (string, error) {
		switch obj.Name {
		case "keyless":
			return "", nil
		case "unkeyed":
			return "x", errFifo
		}
		return informer.KeyOf(obj)
	}
	for _, c := range []struct {
		name string
		obj  fifoObject
		want informer.ObjectError
	}{
		{"nil object", nil, informer.ObjectError{}},
		{"transform fails", fifoObj("bad@7/u1"), informer.ObjectError{Key: "bad", UID: "u1", ResourceVersion: "7"}},
		{"transform returns nil", fifoObj("nil@7/u1"), informer.ObjectError{Key: "nil", UID: "u1", ResourceVersion: "7"}},
		{"renamed", fifoObj("renamed@7/u1"), informer.ObjectError{Key: "renamed", UID: "u1", ResourceVersion: "7"}},
		{"moved", fifoObj("moved@7/u1"), informer.ObjectError{Key: "moved", UID: "u1", ResourceVersion: "7"}},
		{"no name", fifoObj("@7/u1"), informer.ObjectError{UID: "u1", ResourceVersion: "7"}},
		{"no key", fifoObj("keyless@7/u1"), informer.ObjectError{UID: "u1", ResourceVersion: "7"}},
		{"key function fails", fifoObj("unkeyed@7/u1"), informer.ObjectError{UID: "u1", ResourceVersion: "7"}},
	} {
		f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{KeyFunc: key, Transform: bad})
		copied := func() fifoObject { return c.obj.DeepCopy() } // the transform works in place
		for verb, write := range map[string]func() error{
			"Add":     func() error { return f.Add(t.Context(), copied()) },
			"Update":  func() error { return f.Update(t.Context(), copied()) },
			"Replace": func() error { return f.Replace(t.Context(), []fifoObject{copied()}, "9") },
		} {
			t.Run(c.name+"/"+verb, func(t *testing.T) {
				var got *informer.ObjectError
				if err := write(); !errors.As(err, &got) {
					t.Fatalf("returned %v, want an *ObjectError", err)
				}
				if got.Key != c.want.Key || got.UID != c.want.UID || got.ResourceVersion != c.want.ResourceVersion || got.Err == nil {
					t.Errorf("error of %q@%s/%s: %v, want %q", got.Key, got.ResourceVersion, got.UID, got.Err, c.want.Key)
				}
				if f.Len() != 0 || f.ResourceVersion() != "" {
					t.Error("something was queued")
				}
			})
		}
	}
}

func TestDeltaFIFOPoisonDelete(t *testing.T) {
	transform := func(obj fifoObject) (fifoObject, error) { return nil, errFifo }
	known := newFifoKnown("x@5/u1")
	f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{KnownObjects: known, Transform: transform})
	fifoWrite(t, f, "delete x@9/u1", "delete never@10")
	fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[fifoObject]) error {
		d := deltas.Newest()
		if fifoText(deltas) != "Deleted? x@5" || d.ResourceVersion != "9" || d.UID != "u1" {
			t.Errorf("popped %s of @%s/%s, want the last known object", fifoText(deltas), d.ResourceVersion, d.UID)
		}
		return known.apply(deltas)
	}))
	fifoWant(t, f, known)

	f = informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{Transform: transform})
	fifoWrite(t, f, "delete x@9/u1")
	fifoWant(t, f, nil, "Deleted? x@nothing")

	var objectError *informer.ObjectError
	if err := f.Delete(t.Context(), nil); !errors.As(err, &objectError) {
		t.Errorf("Delete of nil returned %v, want an *ObjectError", err)
	}
}

// Identity is that of the object as it came, whatever the transform blanks.
func TestDeltaFIFOTransform(t *testing.T) {
	known := newFifoKnown()
	calls := 0
	f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{
		KnownObjects: known,
		Transform: func(obj fifoObject) (fifoObject, error) {
			calls++
			obj.UID, obj.ResourceVersion = "", ""
			return obj, nil
		},
	})
	fifoWrite(t, f, "add a@1/u1", "bookmark 2")
	fifoWant(t, f, known, "Added a@")
	if version, uid, _ := known.Identity("a"); version != "1" || uid != "u1" {
		t.Errorf("identity @%s/%s, want @1/u1", version, uid)
	}
	fifoWrite(t, f, "list 3 a@1/u1")
	fifoWant(t, f, known)
	fifoWrite(t, f, "resync", "list 4")
	fifoWant(t, f, known, "Sync a@; Deleted? a@")
	if calls != 2 {
		t.Errorf("transform was called %d times, want once for the event and once for the item", calls)
	}
}

func TestDeltaFIFOTransformPanics(t *testing.T) {
	f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{
		Transform: func(obj fifoObject) (fifoObject, error) {
			if obj.Name == "bad" {
				panic(errFifo)
			}
			return obj, nil
		},
	})
	func() {
		defer func() {
			if p := recover(); p != errFifo {
				t.Errorf("recovered %v, want the panic of the transform", p)
			}
		}()
		_ = f.Add(t.Context(), fifoObj("bad@1"))
	}()
	fifoWrite(t, f, "add good@2")
	fifoWant(t, f, nil, "Added good@2")
}

// fifoPlain has no metadata, and cannot be compared with ==.
type fifoPlain struct {
	Name string
	Data []byte
}

func TestDeltaFIFOWithoutMetadata(t *testing.T) {
	f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoPlain]{
		KeyFunc:   func(p fifoPlain) (string, error) { return p.Name, nil },
		Transform: func(p fifoPlain) (fifoPlain, error) { p.Data = append(p.Data, '!'); return p, nil },
	})
	ctx := context.Background()
	fifoMust(t, f.Add(ctx, fifoPlain{"a", []byte("1")}))
	r, err := f.BeginReplace(ctx)
	fifoMust(t, err)
	fifoMust(t, r.Put(fifoPlain{"a", []byte("1")}))
	fifoMust(t, r.Put(fifoPlain{"b", []byte("1")}))
	fifoMust(t, f.Resync(ctx))
	fifoMust(t, r.Commit("5"))
	fifoMust(t, f.Replace(ctx, []fifoPlain{{"a", []byte("2")}, {"b", []byte("1")}}, "6"))
	for _, want := range []string{"Added 1! Replaced 2! ", "Replaced 1! "} {
		fifoMust(t, f.Pop(ctx, func(deltas informer.Deltas[fifoPlain]) error {
			got := ""
			for _, d := range deltas {
				got += string(d.Type) + " " + string(d.Object.Data) + " "
				if d.ResourceVersion != "" || d.UID != "" {
					t.Errorf("version %q, UID %q of an object without metadata", d.ResourceVersion, d.UID)
				}
			}
			if got != want {
				t.Errorf("%s: %q, want %q", deltas.Key(), got, want)
			}
			return nil
		}))
	}
}

// An interface as T may hold objects of several types, and nil.
func TestDeltaFIFOInterface(t *testing.T) {
	f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[any]{})
	var objectError *informer.ObjectError
	for _, obj := range []any{nil, "text", fifoObject(nil)} {
		if err := f.Add(t.Context(), obj); !errors.As(err, &objectError) {
			t.Errorf("Add of a %T returned %v, want an *ObjectError", obj, err)
		}
	}
	fifoMust(t, f.Add(t.Context(), fifoObj("a@1")))
	if f.Len() != 1 {
		t.Errorf("%d keys queued, want 1", f.Len())
	}
}
