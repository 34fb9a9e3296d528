// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outcome is what a list or a watch came to, on either face: what was received, how long
// that took, and how it ended.
type outcome struct {
	text string
	took time.Duration
	cut  bool
}

// face is a way to ask a collection.
type face struct {
	name  string
	list  func(w web, query string) outcome
	watch func(w web, query string) outcome // for at most an hour
}

var faces = []face{{"typed", typedList, typedWatch}, {"HTTP", webList, webWatch}}

func optionsOf(query string) metav1.ListOptions {
	var o metav1.ListOptions
	for _, part := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "resourceVersion":
			o.ResourceVersion = value
		case "labelSelector":
			o.LabelSelector = value
		case "continue":
			o.Continue = value
		case "limit":
			fmt.Sscan(value, &o.Limit)
		case "timeoutSeconds":
			o.TimeoutSeconds = new(int64)
			fmt.Sscan(value, o.TimeoutSeconds)
		}
	}
	return o
}

func typedList(w web, query string) outcome {
	began := time.Now()
	list, err := w.List(w.Context(), optionsOf(query))
	took := time.Since(began)
	if err != nil {
		return outcome{fmt.Sprint("code ", codeOf(err)), took, errors.Is(err, io.ErrUnexpectedEOF)}
	}
	whole, err := json.Marshal(list)
	if err != nil {
		w.Fatal(err)
	}
	return outcome{text: listText(w, whole), took: took}
}

// listText writes a list, as JSON, as "a b continue".
func listText(w web, content []byte) string {
	var list struct {
		metav1.ListMeta `json:"metadata"`
		Code            int
		Items           []*note
	}
	if err := json.Unmarshal(content, &list); err != nil {
		w.Fatalf("%s: %v", content, err)
	}
	if list.Code != 0 {
		return fmt.Sprint("code ", list.Code)
	}
	var names []string
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	return strings.TrimSpace(strings.Join(names, " ") + " " + list.Continue)
}

func webList(w web, query string) outcome {
	began := time.Now()
	response, err := w.do("GET", notesPath+"?"+query, "")
	if err != nil {
		w.Fatal(err)
	}
	content, err := io.ReadAll(response.Body)
	took := time.Since(began)
	if err != nil {
		return outcome{"code 0", took, errors.Is(err, io.ErrUnexpectedEOF)}
	}
	return outcome{text: listText(w, content), took: took}
}

func typedWatch(w web, query string) outcome {
	ctx, cancel := context.WithTimeout(w.Context(), time.Hour)
	defer cancel()
	began := time.Now()
	events, err := w.Watch(ctx, optionsOf(query))
	if err != nil {
		w.Fatal(err)
	}
	var o outcome
	for e := range events.ResultChan() {
		o.text += written(e) + " "
	}
	o.text, o.took = strings.TrimSpace(o.text), time.Since(began)
	return o
}

func webWatch(w web, query string) outcome {
	ctx, cancel := context.WithTimeout(w.Context(), time.Hour)
	defer cancel()
	began := time.Now()
	response, err := w.get(ctx, notesPath+"?watch=1&"+query)
	if err != nil {
		w.Fatal(err)
	}
	var o outcome
	for decoder := json.NewDecoder(response.Body); ; {
		var frame struct {
			Type   string
			Object *note
		}
		if err := decoder.Decode(&frame); err != nil {
			o.cut = !errors.Is(err, io.EOF) && ctx.Err() == nil
			o.text, o.took = strings.TrimSpace(o.text), time.Since(began)
			return o
		}
		sign := map[string]string{"ADDED": "+", "MODIFIED": "~", "DELETED": "-"}[frame.Type]
		o.text += fmt.Sprintf("%s%s=%s@%s ", sign, frame.Object.Name, frame.Object.Text, frame.Object.ResourceVersion)
	}
}

// get sends a request that ends with ctx.
func (w web) get(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, "GET", "http://pipe"+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	response, err := w.client.Do(request)
	if err == nil {
		w.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

// Each fault is there on both faces.
func TestFaultsOnBothFaces(t *testing.T) {
	const all = "~a=1@3 ~a=2@4 ~a=3@5 ~a=4@6"
	for name, test := range map[string]struct {
		quirks      informertest.Quirks
		list, watch string // what is asked for
		text        string
		took        time.Duration
		cut         bool // where the face can tell
	}{
		"list, none":       {list: "limit=2", text: "a"},
		"list, selector":   {list: "labelSelector=text%3Dother"},
		"ignores selector": {quirks: informertest.Quirks{IgnoreSelectors: true}, list: "labelSelector=text%3Dother", text: "a"},
		"slow list":        {quirks: informertest.Quirks{Slow: time.Minute}, list: "limit=2", text: "a", took: time.Minute},
		"truncated list":   {quirks: informertest.Quirks{Truncate: true}, list: "limit=2", text: "code 0", cut: true},
		"expired token":    {quirks: informertest.Quirks{ExpireTokens: true}, list: "limit=1&continue=TOKEN", text: "code 410"},
		"watch, none":      {watch: "resourceVersion=2&timeoutSeconds=9", text: all, took: 9 * time.Second},
		"ignores timeout":  {quirks: informertest.Quirks{IgnoreTimeout: true}, watch: "resourceVersion=2&timeoutSeconds=9", text: all, took: time.Hour},
		"half open":        {quirks: informertest.Quirks{HalfOpen: true}, watch: "resourceVersion=2&timeoutSeconds=9", took: time.Hour},
		"half open, old":   {quirks: informertest.Quirks{HalfOpen: true}, watch: "resourceVersion=1", took: time.Hour},
		"slow watch":       {quirks: informertest.Quirks{Slow: 4 * time.Second}, watch: "resourceVersion=2&timeoutSeconds=9", text: "~a=1@3 ~a=2@4", took: 9 * time.Second},
		"truncated watch":  {quirks: informertest.Quirks{Truncate: true}, watch: "resourceVersion=2&timeoutSeconds=9", cut: true},
		"dropped":          {quirks: informertest.Quirks{DropEvents: 2}, watch: "resourceVersion=2&timeoutSeconds=9", text: "~a=1@3 ~a=3@5", took: 9 * time.Second},
		"duplicate": {quirks: informertest.Quirks{DuplicateEvents: 3}, watch: "resourceVersion=2&timeoutSeconds=9",
			text: "~a=1@3 ~a=2@4 ~a=3@5 ~a=3@5 ~a=4@6", took: 9 * time.Second},
		"reordered": {quirks: informertest.Quirks{ReorderEvents: 2}, watch: "resourceVersion=2&timeoutSeconds=9",
			text: "~a=1@3 ~a=3@5 ~a=2@4", took: 9 * time.Second},
	} {
		for _, f := range faces {
			bubble(t, name+", "+f.name, func(t *testing.T) {
				w := newWeb(t, informertest.ServerOptions{}, "a")
				for _, text := range []string{"1", "2", "3", "4"} {
					w.update("a", text)
				}
				query := test.list
				if before, after, found := strings.Cut(query, "TOKEN"); found {
					query = before + w.token() + after
				}
				w.SetQuirks(test.quirks)
				var got outcome
				switch {
				case test.watch != "":
					got = f.watch(w, test.watch)
				case f.name == "typed":
					got = f.list(w, strings.ReplaceAll(query, "%3D", "="))
				default:
					got = f.list(w, query)
				}
				closed := f.name == "typed" && test.watch != "" // a channel has one way to end
				if got.text != test.text || got.took != test.took || got.cut != (test.cut && !closed) {
					t.Errorf("got %+v; want %q after %v, cut %v", got, test.text, test.took, test.cut)
				}
			})
		}
	}
}

// token is a continue token of the collection.
func (w web) token() string {
	w.create("z")
	list := w.list(metav1.ListOptions{Limit: 1})
	w.delete("z")
	return list.Continue
}

func TestRepeatedToken(t *testing.T) {
	for _, f := range faces {
		bubble(t, f.name, func(t *testing.T) {
			w := newWeb(t, informertest.ServerOptions{}, "a", "b", "c", "d")
			w.SetQuirks(informertest.Quirks{RepeatTokens: true})
			_, first, _ := strings.Cut(f.list(w, "limit=1").text, " ")
			for range 3 {
				expect(t, "page", f.list(w, "limit=1&continue="+first).text, "b "+first)
			}
		})
	}
}

// A collection that is restored has the objects and the version of then; versions come a
// second time, and a watch from the future waits for it.
func TestRestore(t *testing.T) {
	for _, f := range faces {
		bubble(t, f.name, func(t *testing.T) {
			w := newWeb(t, informertest.ServerOptions{}, "a")
			old := w.create("b")
			snapshot := w.Snapshot()
			w.update("a", "later")
			w.delete("b")
			lost := w.create("c")
			open := w.watch(t.Context(), metav1.ListOptions{ResourceVersion: lost.ResourceVersion})
			w.Restore(snapshot)
			expect(t, "open watch", drain(open), "|")
			expect(t, "list", f.list(w, "").text, "a b")
			expect(t, "version", w.ResourceVersion(), old.ResourceVersion)
			if code := f.list(w, "resourceVersion="+lost.ResourceVersion).text; code != "code 504" {
				t.Errorf("a list of the future: %s", code)
			}
			go func() {
				time.Sleep(time.Minute)
				for _, name := range []string{"c", "d", "e", "f"} {
					if again := w.create(name); again.UID == lost.UID {
						t.Error("a UID came twice")
					}
				}
			}()
			got := f.watch(w, "timeoutSeconds=90&resourceVersion="+lost.ResourceVersion)
			expect(t, "watch", got.text, "+f=one@7")
			synctest.Wait()
			got = f.watch(w, "timeoutSeconds=1&resourceVersion="+old.ResourceVersion)
			expect(t, "watch from the snapshot", got.text, "+c=one@4 +d=one@5 +e=one@6 +f=one@7")
		})
	}
}
