// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

type fifoObject = *metav1.PartialObjectMetadata

// fifoObj reads "name@version/uid {content}"; version, uid and content may be missing.
func fifoObj(text string) fifoObject {
	text, content, _ := strings.Cut(text, " ")
	text, uid, _ := strings.Cut(text, "/")
	name, version, _ := strings.Cut(text, "@")
	obj := &metav1.PartialObjectMetadata{}
	obj.Name, obj.ResourceVersion, obj.UID = name, version, types.UID(uid)
	if content != "" {
		obj.Labels = map[string]string{"content": content}
	}
	return obj
}

func fifoObjs(texts ...string) []fifoObject {
	var objs []fifoObject
	for _, text := range texts {
		objs = append(objs, fifoObj(text))
	}
	return objs
}

// fifoKnown is the simplest thing that a consumer can keep.
type fifoKnown struct {
	mu        sync.Mutex
	last      map[string]informer.Delta[fifoObject]
	bookmarks []string
	failing   error // of Bookmark
}

func newFifoKnown(objs ...string) *fifoKnown {
	k := &fifoKnown{last: map[string]informer.Delta[fifoObject]{}}
	for _, obj := range fifoObjs(objs...) {
		k.last[obj.Name] = informer.Delta[fifoObject]{
			Key: obj.Name, Object: obj, ResourceVersion: obj.ResourceVersion, UID: obj.UID,
		}
	}
	return k
}

func (k *fifoKnown) Keys() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var keys []string
	for key := range k.last {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func (k *fifoKnown) Get(key string) (fifoObject, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, ok := k.last[key]
	return d.Object, ok
}

func (k *fifoKnown) Identity(key string) (string, types.UID, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, ok := k.last[key]
	return d.ResourceVersion, d.UID, ok
}

func (k *fifoKnown) Bookmark(_ context.Context, version string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.bookmarks = append(k.bookmarks, version)
	return k.failing
}

func (k *fifoKnown) heard() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return strings.Join(k.bookmarks, " ")
}

func (k *fifoKnown) apply(deltas informer.Deltas[fifoObject]) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := deltas.Newest(); d.Type == informer.DeltaDeleted {
		delete(k.last, d.Key)
	} else {
		k.last[d.Key] = d
	}
	return nil
}

// fifoText is "Updated a@2; Deleted? a@2": a question mark for FinalStateUnknown.
func fifoText(deltas informer.Deltas[fifoObject]) string {
	var parts []string
	for _, d := range deltas {
		unknown := ""
		if d.FinalStateUnknown {
			unknown = "?"
		}
		version := "nothing"
		if d.Object != nil {
			version = d.Object.ResourceVersion
		}
		parts = append(parts, fmt.Sprintf("%s%s %s@%s", d.Type, unknown, d.Key, version))
	}
	return strings.Join(parts, "; ")
}

func newFifo(known *fifoKnown) *informer.DeltaFIFO[fifoObject] {
	options := informer.DeltaFIFOOptions[fifoObject]{}
	if known != nil {
		options.KnownObjects = known
	}
	return informer.NewDeltaFIFO(options)
}

// fifoDrain pops all that is queued, lets known have it and returns it as text.
func fifoDrain(t *testing.T, f *informer.DeltaFIFO[fifoObject], known *fifoKnown) []string {
	t.Helper()
	var popped []string
	for f.Len() > 0 {
		fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[fifoObject]) error {
			popped = append(popped, fifoText(deltas))
			if known == nil {
				return nil
			}
			return known.apply(deltas)
		}))
	}
	return popped
}

// fifoWant drains and compares.
func fifoWant(t *testing.T, f *informer.DeltaFIFO[fifoObject], known *fifoKnown, want ...string) {
	t.Helper()
	if got := fifoDrain(t, f, known); !slices.Equal(got, want) {
		t.Errorf("popped %q, want %q", got, want)
	}
}

func fifoMust(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
