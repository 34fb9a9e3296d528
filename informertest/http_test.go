// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/informertest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var notes = informertest.Resource{Group: "example.com", Version: "v1", Resource: "notes", Kind: "Note", Namespaced: true}

const (
	notesPath = "/apis/example.com/v1/namespaces/ns/notes"
	partial   = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// web is a typed collection behind HTTP.
type web struct {
	kit
	server *informertest.Server
	client *http.Client
}

func newWeb(t *testing.T, options informertest.ServerOptions, names ...string) web {
	w := web{kit: newKit(t, names...), server: informertest.NewServer(options)}
	informertest.Serve(w.server, notes, w.Collection)
	w.client = serve(t, w.server)
	return w
}

// do sends a request; headers are written as "Name: value".
func (w web) do(method, path, body string, headers ...string) (*http.Response, error) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, "http://pipe"+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := w.client.Do(request)
	if err == nil {
		w.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

// answer returns the code and the body of the answer to a request.
func (w web) answer(method, path, body string, headers ...string) (int, string) {
	w.Helper()
	response, err := w.do(method, path, body, headers...)
	if err != nil {
		w.Fatalf("%s %s: %v", method, path, err)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatalf("read answer of %s %s: %v", method, path, err)
	}
	return response.StatusCode, strings.TrimSpace(string(content))
}

func TestHTTPErrors(t *testing.T) {
	for _, test := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		reason                   metav1.StatusReason
	}{
		{"unknown path", "GET", "/nowhere", "", nil, 404, "NotFound"},
		{"unknown resource", "GET", "/api/v1/pods", "", nil, 404, "NotFound"},
		{"subresource", "GET", notesPath + "/a/status", "", nil, 404, "NotFound"},
		{"get what is not there", "GET", notesPath + "/b", "", nil, 404, "NotFound"},
		{"method", "PATCH", notesPath + "/a", "", nil, 405, "MethodNotAllowed"},
		{"create in no namespace", "POST", "/apis/example.com/v1/notes", "{}", nil, 405, "MethodNotAllowed"},
		{"representation", "GET", notesPath, "", []string{"Accept: application/vnd.kubernetes.protobuf"}, 406, "NotAcceptable"},
		{"media type", "POST", notesPath, "{}", []string{"Content-Type: application/xml"}, 415, "UnsupportedMediaType"},
		{"limit", "GET", notesPath + "?limit=x", "", nil, 400, "BadRequest"},
		{"body", "POST", notesPath, `{"metadata":`, nil, 400, "BadRequest"},
		{"large body", "POST", notesPath, strings.Repeat(" ", 4<<20), nil, 413, "RequestEntityTooLarge"},
		{"kind", "POST", notesPath, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}}`, nil, 400, "BadRequest"},
		{"namespace", "POST", notesPath, `{"metadata":{"name":"b","namespace":"other"}}`, nil, 400, "BadRequest"},
		{"name", "PUT", notesPath + "/a", `{"metadata":{"name":"b"}}`, nil, 400, "BadRequest"},
		{"no name", "POST", notesPath, `{}`, nil, 422, "Invalid"},
		{"exists", "POST", notesPath, `{"metadata":{"name":"a"}}`, nil, 409, "AlreadyExists"},
		{"stale", "PUT", notesPath + "/a", `{"metadata":{"name":"a","resourceVersion":"1"}}`, nil, 409, "Conflict"},
		{"precondition", "DELETE", notesPath + "/a", `{"preconditions":{"uid":"other"}}`, nil, 409, "Conflict"},
		{"delete options", "DELETE", notesPath + "/a", `{`, nil, 400, "BadRequest"},
	} {
		bubble(t, test.name, func(t *testing.T) {
			w := newWeb(t, informertest.ServerOptions{}, "a")
			code, body := w.answer(test.method, test.path, test.body, test.headers...)
			var status metav1.Status
			if err := json.Unmarshal([]byte(body), &status); err != nil {
				t.Fatalf("%d %s: %v", code, body, err)
			}
			if code != test.code || status.Code != int32(test.code) || status.Reason != test.reason || status.Kind != "Status" {
				t.Errorf("%d %s; want %d %s", code, body, test.code, test.reason)
			}
		})
	}
}

func TestHTTPWrites(t *testing.T) {
	bubble(t, "create, get, update, delete", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{})
		code, body := w.answer("POST", notesPath, `{"metadata":{"name":"a"},"text":"one"}`)
		if code != 201 || !strings.HasPrefix(body, `{"kind":"Note","apiVersion":"example.com/v1","metadata":{"name":"a","namespace":"ns"`) {
			t.Errorf("create: %d %s", code, body)
		}
		if code, got := w.answer("GET", notesPath+"/a", ""); code != 200 || got != body {
			t.Errorf("get: %d %s; want %s", code, got, body)
		}
		code, body = w.answer("PUT", notesPath+"/a", `{"metadata":{"name":"a"},"text":"two"}`)
		if code != 200 || !strings.Contains(body, `"text":"two"`) {
			t.Errorf("update: %d %s", code, body)
		}
		expect(t, "the typed face", names(w.list(metav1.ListOptions{})), "a=two@3")
		code, body = w.answer("DELETE", notesPath+"/a", "")
		if code != 200 || !strings.Contains(body, `"status":"Success"`) || w.Len() != 0 {
			t.Errorf("delete: %d %s", code, body)
		}
	})
	bubble(t, "delete what finalizers hold", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{})
		w.answer("POST", notesPath, `{"metadata":{"name":"a","finalizers":["example.com/hold"]}}`)
		code, body := w.answer("DELETE", notesPath+"/a", "")
		if code != 200 || !strings.Contains(body, `"kind":"Note"`) || !strings.Contains(body, "deletionTimestamp") {
			t.Errorf("delete: %d %s", code, body)
		}
	})
}

func TestHTTPAuthorization(t *testing.T) {
	bubble(t, "token", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{Token: "t1"}, "a")
		for _, test := range []struct {
			header string
			code   int
		}{{"X: none", 401}, {"Authorization: Bearer t2", 401}, {"Authorization: Bearer t1", 200}} {
			if code, body := w.answer("GET", notesPath, "", test.header); code != test.code {
				t.Errorf("%s: %d %s; want %d", test.header, code, body, test.code)
			}
		}
		w.server.SetToken("t2")
		if code, _ := w.answer("GET", notesPath, "", "Authorization: Bearer t2"); code != 200 {
			t.Errorf("the new token is answered with %d", code)
		}
	})
	bubble(t, "authorize", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{Authorize: func(verb string, resource informertest.Resource, namespace string) bool {
			return verb != "list" || resource != notes || namespace != "ns"
		}}, "a")
		code, body := w.answer("GET", notesPath, "")
		if code != 403 || !strings.Contains(body, `"reason":"Forbidden"`) {
			t.Errorf("list: %d %s", code, body)
		}
		if code, _ := w.answer("GET", notesPath+"/a", ""); code != 200 {
			t.Errorf("get: %d", code)
		}
	})
}

func TestHTTPRepresentations(t *testing.T) {
	bubble(t, "items with and without kind", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{}, "a")
		_, plain := w.answer("GET", notesPath, "")
		custom := notes
		custom.Resource, custom.ItemKinds = "customnotes", true
		informertest.Serve(w.server, custom, w.Collection)
		_, kinds := w.answer("GET", strings.Replace(notesPath, "notes", "customnotes", 1), "")
		const head = `{"kind":"NoteList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"2"},"items":[{`
		if !strings.HasPrefix(plain, head+`"metadata":`) || !strings.HasPrefix(kinds, head+`"kind":"Note","apiVersion":"example.com/v1","metadata":`) {
			t.Errorf("lists are\n%s\n%s", plain, kinds)
		}
	})
	bubble(t, "metadata", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{}, "a")
		_, list := w.answer("GET", notesPath, "", "Accept: "+partial+",application/json")
		_, one := w.answer("GET", notesPath+"/a", "", "Accept: "+strings.Replace(partial, "List", "", 1))
		for _, body := range []string{list, one} {
			if !strings.Contains(body, `"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`) ||
				strings.Count(body, "one") != 1 { // the label, and not the text
				t.Errorf("metadata: %s", body)
			}
		}
		w.delete("a")
		_, empty := w.answer("GET", notesPath, "", "Accept: "+partial)
		if !strings.HasPrefix(empty, `{"kind":"PartialObjectMetadataList"`) || !strings.HasSuffix(empty, `"items":null}`) {
			t.Errorf("no metadata: %s", empty)
		}
	})
	bubble(t, "a table is passed over", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{}, "a")
		const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
		if code, _ := w.answer("GET", notesPath, "", "Accept: "+table); code != 406 {
			t.Errorf("a table alone: %d", code)
		}
		if _, body := w.answer("GET", notesPath, "", "Accept: "+table+", */*"); !strings.Contains(body, "NoteList") {
			t.Errorf("a table or anything: %s", body)
		}
	})
}

func TestHTTPCompression(t *testing.T) {
	for name, test := range map[string]struct {
		objects int
		header  string
		options informertest.ServerOptions
		gzip    bool
	}{
		"long":         {200, "gzip", informertest.ServerOptions{}, true},
		"short":        {2, "gzip", informertest.ServerOptions{}, false},
		"not accepted": {200, "identity", informertest.ServerOptions{}, false},
		"turned off":   {200, "gzip", informertest.ServerOptions{NoCompression: true}, false},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newWeb(t, test.options)
			for i := range test.objects {
				n := newNote(fmt.Sprint(i), "")
				n.Text = strings.Repeat("x", 1000)
				w.must(w.Create(t.Context(), n))
			}
			response, err := w.do("GET", notesPath, "", "Accept-Encoding: deflate, "+test.header+";q=1")
			if err != nil {
				t.Fatal(err)
			}
			body := io.Reader(response.Body)
			if compressed := response.Header.Get("Content-Encoding") == "gzip"; compressed != test.gzip {
				t.Fatalf("compressed: %v; want %v", compressed, test.gzip)
			} else if compressed {
				if body, err = gzip.NewReader(body); err != nil {
					t.Fatal(err)
				}
			}
			var list struct{ Items []*note }
			if err := json.NewDecoder(body).Decode(&list); err != nil || len(list.Items) != test.objects {
				t.Errorf("%d items, %v", len(list.Items), err)
			}
		})
	}
}

// lines reads a watch until its end, or until nothing more comes.
func lines(t *testing.T, body io.Reader) (frames []string, end func() error) {
	read, failed := make(chan string), make(chan error, 1)
	go func() {
		scanner := bufio.NewScanner(body)
		for scanner.Scan() {
			read <- scanner.Text()
		}
		failed <- scanner.Err()
	}()
	for {
		synctest.Wait()
		select {
		case line := <-read:
			frames = append(frames, line)
		default:
			return frames, func() error { return <-failed }
		}
	}
}

func TestHTTPWatch(t *testing.T) {
	watchOf := func(w web, query string, headers ...string) io.Reader {
		response, err := w.do("GET", notesPath+"?watch=1&"+query, "", headers...)
		if err != nil || response.StatusCode != 200 {
			w.Fatalf("watch: %v, %v", response, err)
		}
		return response.Body
	}
	bubble(t, "frames", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{}, "a")
		body := watchOf(w, "allowWatchBookmarks=true")
		frames, _ := lines(t, body)
		if len(frames) != 2 || !strings.HasPrefix(frames[0], `{"type":"ADDED","object":{"kind":"Note","apiVersion":"example.com/v1","metadata":{"name":"a"`) {
			t.Fatalf("frames are %q", frames)
		}
		expect(t, "the marker", frames[1], `{"type":"BOOKMARK","object":{"kind":"Note","apiVersion":"example.com/v1",`+
			`"metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
	})
	bubble(t, "metadata", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{}, "a")
		w.delete("a")
		frames, _ := lines(t, watchOf(w, "resourceVersion=1", "Accept: "+partial))
		if len(frames) != 2 || !strings.Contains(frames[1], `"type":"DELETED","object":{"kind":"PartialObjectMetadata"`) ||
			!strings.Contains(frames[1], `"resourceVersion":"3"`) || strings.Contains(frames[1], `},"text"`) {
			t.Errorf("frames are %q", frames)
		}
	})
	bubble(t, "the deadline is a proper end, a cut is not", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{})
		_, ended := lines(t, watchOf(w, "resourceVersion=1&timeoutSeconds=10"))
		time.Sleep(10 * time.Second)
		if err := ended(); err != nil {
			t.Errorf("at the deadline: %v", err)
		}
		_, cut := lines(t, watchOf(w, "resourceVersion=1&timeoutSeconds=10"))
		w.CutStreams()
		if err := cut(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut: %v", err)
		}
		if code, _ := w.answer("GET", notesPath, ""); code != 200 {
			t.Errorf("afterwards: %d", code)
		}
	})
	bubble(t, "a client that does not read does not keep a stream", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{})
		watchOf(w, "resourceVersion=1&timeoutSeconds=10")
		for i := range 2000 {
			w.create(fmt.Sprint(i))
		}
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if w.OpenWatches() != 0 {
			t.Error("the watch is open")
		}
	})
}

func TestHTTPFaults(t *testing.T) {
	bubble(t, "with and without a Status", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{}, "a")
		w.FailNext(1, apierrors.NewTooManyRequests("busy", 7))
		response, err := w.do("GET", notesPath, "")
		if err != nil || response.StatusCode != 429 || response.Header.Get("Retry-After") != "7" {
			t.Errorf("answer is %v, %v", response, err)
		}
		w.FailNext(1, errors.New("down"))
		if response, err := w.do("GET", notesPath, "", "X-Once: no retry", "Idempotency-Key: x"); err == nil {
			t.Errorf("answer is %v; want none", response)
		}
	})
}

func TestServeRefuses(t *testing.T) {
	server := informertest.NewServer(informertest.ServerOptions{})
	server.Add(notes)
	for name, resource := range map[string]informertest.Resource{"twice": notes, "incomplete": {Version: "v1", Resource: "notes"}} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "informertest: Serve: ") {
					t.Errorf("%s: panic %q", name, text)
				}
			}()
			server.Add(resource)
		}()
	}
}

func TestServerSharesVersions(t *testing.T) {
	bubble(t, "two resources", func(t *testing.T) {
		server := informertest.NewServer(informertest.ServerOptions{})
		a, b := server.Add(notes), server.Add(configMaps)
		load := func(c interface {
			LoadJSON(func(func([]byte) bool)) error
		}) {
		}
		_ = load
		if err := a.LoadJSON(slices.Values([][]byte{[]byte(`{"metadata":{"name":"a"}}`)})); err != nil {
			t.Fatal(err)
		}
		if a.ResourceVersion() != "2" || b.ResourceVersion() != "2" {
			t.Errorf("versions are %s and %s", a.ResourceVersion(), b.ResourceVersion())
		}
		old, err := b.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		now, err := b.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		version := func(list any) string { return list.(metav1.ListInterface).GetResourceVersion() }
		expect(t, "versions of the cache and after a consistent read", version(old)+" "+version(now), "1 2")
	})
}

func TestLoadJSON(t *testing.T) {
	w := web{kit: newKit(t)}
	load := func(objects ...string) error {
		return w.LoadJSON(func(yield func([]byte) bool) {
			for _, object := range objects {
				if !yield([]byte(object)) {
					return
				}
			}
		})
	}
	if err := load(`{"kind":"Note","apiVersion":"example.com/v1","text":"one","metadata":{"name":"b","namespace":"ns","uid":"u1","labels":{"text":"one"}}}`,
		`{"metadata":{"name":"a","namespace":"ns"}, "text":"two"}`); err != nil {
		t.Fatal(err)
	}
	list := w.list(metav1.ListOptions{})
	expect(t, "list", names(list), "a=two@3 b=one@2")
	if list.Items[1].UID != "u1" || list.Items[0].UID == "" || list.Items[0].CreationTimestamp.IsZero() {
		t.Errorf("items are %v, %v", list.Items[0], list.Items[1])
	}
	expect(t, "selected", names(w.list(metav1.ListOptions{LabelSelector: "text=one"})), "b=one@2")
	w.update("b", "three")
	w.delete("a")
	expect(t, "written", names(w.list(metav1.ListOptions{})), "b=three@4")
	for name, object := range map[string]string{
		"no JSON": `{`, "no name": `{"metadata":{}}`, "taken": `{"metadata":{"name":"b","namespace":"ns"}}`,
		"other type": `{"metadata":{"name":"c"},"text":{}}`, "bad metadata": `{"metadata":[]}`,
	} {
		if err := load(object); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
