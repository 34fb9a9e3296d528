// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// state is a collection as a map from key to text@version.
type state map[string]string

func (s state) put(n *note) { s[n.Name] = n.Text + "@" + n.ResourceVersion }
func (s state) String() string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		out = append(out, key+"="+s[key])
	}
	return strings.Join(out, " ")
}

// FuzzCollection checks lists at every version of the past, page by page, and watches from
// every version, against a map that is copied after each write.
func FuzzCollection(f *testing.F) {
	f.Add([]byte("abcabcABCabc"))
	f.Add([]byte("aAaAbBcCdDeEaAAabbBBzZ"))
	f.Add([]byte("hgfedcbaHGFEDCBAhgfedcbaabcdefgh"))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 40 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			past := []state{{}} // past[i] is the state at version i+1
			for i, op := range script {
				past = append(past, apply(k, maps.Clone(past[len(past)-1]), op, i)...)
			}
			for i, want := range past {
				version := strconv.Itoa(i + 1)
				expect(t, "list at "+version, pages(k, version), want.String())
				expect(t, "watch from "+version, replay(k, maps.Clone(want), version), past[len(past)-1].String())
			}
		})
	})
}

// apply makes a write of a byte: a small letter creates or updates an object of its name, a
// capital deletes it. It returns the new state, or none if nothing was written.
func apply(k kit, now state, op byte, step int) []state {
	name := strings.ToLower(string(rune('a' + op%26)))
	_, exists := now[name]
	switch {
	case op >= 'a' && exists:
		now.put(k.update(name, fmt.Sprint(step)))
	case op >= 'a':
		now.put(k.create(name))
	case exists:
		k.delete(name)
		delete(now, name)
	default:
		return nil
	}
	return []state{now}
}

// pages lists exactly at a version, two at a time.
func pages(k kit, version string) string {
	out := state{}
	options := metav1.ListOptions{ResourceVersion: version, Limit: 2}
	for {
		list := k.list(options)
		if list.ResourceVersion != version {
			k.Errorf("list at %s has version %s", version, list.ResourceVersion)
		}
		for _, n := range list.Items {
			out.put(n)
		}
		if list.Continue == "" {
			return out.String()
		}
		options = metav1.ListOptions{Continue: list.Continue, Limit: 2}
	}
}

// replay brings a state up to date with a watch.
func replay(k kit, from state, version string) string {
	w := k.watch(k.Context(), metav1.ListOptions{ResourceVersion: version})
	defer w.Stop()
	for {
		synctest.Wait()
		select {
		case e := <-w.ResultChan():
			follow(k.T, from, e)
		default:
			return from.String()
		}
	}
}

// follow applies an event, and checks that it fits.
func follow(t *testing.T, s state, e watch.Event) {
	n := e.Object.(*note)
	_, exists := s[n.Name]
	if exists == (e.Type == watch.Added) {
		t.Errorf("%s for %s, which exists: %v", e.Type, n.Name, exists)
	}
	s.put(n)
	if e.Type == watch.Deleted {
		delete(s, n.Name)
	}
}

// TestConcurrency has writers and watchers at work at once, with streams that are cut;
// every watcher, which resumes, ends with the state of the collection.
func TestConcurrency(t *testing.T) {
	bubble(t, "writers and watchers", func(t *testing.T) {
		c := informertest.NewCollection[*note](t)
		k := kit{T: t, Collection: c}
		const writers, writes, watchers = 4, 200, 4
		var work sync.WaitGroup
		for writer := range writers {
			work.Go(func() {
				for i := range writes {
					name := fmt.Sprintf("%d-%d", writer, i%10)
					if _, err := c.Create(t.Context(), newNote(name, "one")); err != nil {
						_ = c.Delete(t.Context(), "ns", name)
					}
				}
			})
		}
		work.Go(func() {
			for range 20 {
				c.CutStreams()
			}
		})
		target := make(chan struct{})
		states := make([]state, watchers)
		var followers sync.WaitGroup
		for i := range watchers {
			followers.Go(func() { states[i] = followAll(k, target) })
		}
		work.Wait()
		close(target)
		followers.Wait()
		want := state{}
		for _, n := range k.list(metav1.ListOptions{}).Items {
			want.put(n)
		}
		for _, got := range states {
			expect(t, "state of a watcher", got.String(), want.String())
		}
	})
}

// followAll lists, and watches, resuming when a stream ends, until nothing more comes after
// done is closed.
func followAll(k kit, done <-chan struct{}) state {
	s, version := state{}, ""
	list, err := k.List(k.Context(), metav1.ListOptions{})
	if err != nil {
		k.Error(err)
		return s
	}
	version = list.(*informer.ObjectList[*note]).ResourceVersion
	for _, n := range list.(*informer.ObjectList[*note]).Items {
		s.put(n)
	}
	for finished := false; !finished || version != k.ResourceVersion(); {
		w, err := k.Watch(k.Context(), metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			k.Error(err)
			return s
		}
		for open := true; open && (!finished || version != k.ResourceVersion()); {
			select {
			case e, ok := <-w.ResultChan():
				if open = ok; ok {
					follow(k.T, s, e)
					version = e.Object.(*note).ResourceVersion
				}
			case <-done:
				finished, done = true, nil
			}
		}
		w.Stop()
	}
	return s
}
