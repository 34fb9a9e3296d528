// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	added    = `{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"5"},"count":1}}` + "\n"
	deleted  = `{"object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"6"},"count":1},"type":"DELETED"}` + "\n"
	bookmark = `{"type":"BOOKMARK","object":{"kind":"Secret","apiVersion":"v1","metadata":{"resourceVersion":"9","creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
	gone     = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}}` + "\n"
)

func TestWatchEvents(t *testing.T) {
	server := serve(t, answerJSON(added+deleted+bookmark+gone))
	w, err := newClient[*Secret](t, rest.Config{BaseURL: server.URL}).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events := drain(w)
	if len(events) != 4 {
		t.Fatalf("%d events", len(events))
	}
	if s := events[0].Object.(*Secret); events[0].Type != watch.Added || s.Name != "a" || s.Count != 1 || s.Kind != "" {
		t.Errorf("%+v", s)
	}
	if s := events[1].Object.(*Secret); events[1].Type != watch.Deleted || s.ResourceVersion != "6" {
		t.Errorf("%+v", s)
	}
	if s := events[2].Object.(*Secret); events[2].Type != watch.Bookmark || s.ResourceVersion != "9" || s.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("%+v", s)
	}
	if s := events[3].Object.(*metav1.Status); events[3].Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(s)) {
		t.Errorf("%+v", s)
	}
}

func TestWatchInOtherForms(t *testing.T) {
	server := serve(t, answerJSON(added+bookmark))
	config := rest.Config{BaseURL: server.URL}
	w, err := newClient[*unstructured.Unstructured](t, config).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events := drain(w)
	if u := events[0].Object.(*unstructured.Unstructured); u.GetKind() != "Secret" || u.Object["count"] != int64(1) {
		t.Errorf("%v", u)
	}
	if u := events[1].Object.(*unstructured.Unstructured); u.GetResourceVersion() != "9" {
		t.Errorf("%v", u)
	}
	w, err = newClient[*metav1.PartialObjectMetadata](t, config).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events = drain(w)
	if m := events[0].Object.(*metav1.PartialObjectMetadata); m.Name != "a" || m.Kind != "PartialObjectMetadata" {
		t.Errorf("%v", m)
	}
}

func TestWatchObjectsThatAreNoT(t *testing.T) {
	server := serve(t, answerJSON(added+
		`{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c","resourceVersion":"7"}}}`+
		`{"type":"MODIFIED","object":{"metadata":{"name":"b","namespace":"n","uid":"u2","resourceVersion":"8"},"count":"x","kind":"Secret"}}`+
		`{"type":"BOOKMARK","object":{"kind":"Secret","metadata":{"resourceVersion":"9"},"count":"x"}}`))
	w, err := newClient[*Secret](t, rest.Config{BaseURL: server.URL}).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events := drain(w)
	if len(events) != 4 {
		t.Fatalf("%d events", len(events))
	}
	if m, ok := events[1].Object.(*metav1.PartialObjectMetadata); !ok || m.Kind != "ConfigMap" || m.ResourceVersion != "7" {
		t.Errorf("%#v", events[1].Object)
	}
	if u, ok := events[2].Object.(*informer.Undecodable); !ok || u.Name != "b" || u.UID != "u2" || u.ResourceVersion != "8" || u.Err == nil {
		t.Errorf("%#v", events[2].Object)
	}
	if s, ok := events[3].Object.(*Secret); !ok || s.ResourceVersion != "9" {
		t.Errorf("%#v", events[3].Object)
	}
}

func TestWatchStreamsThatGoWrong(t *testing.T) {
	big := `{"type":"ADDED","object":{"metadata":{"name":"a"},"data":{"x":"` + strings.Repeat("A", 40000) + `"}}}`
	for name, row := range map[string]struct {
		tail string
		want string // in the message of the ERROR event; "": the stream just ends
	}{
		"end":                     {"", ""},
		"cut in an event":         {added[:40], ""},
		"no JSON":                 {"<html>" + marker, "malformed"},
		"malformed":               {`{"type":"ADDED","object":{"a":` + marker, "malformed"},
		"no frame":                {`["` + marker + `"]`, "JSON array"},
		"no object":               {`{"type":"ADDED"}`, "without type or object"},
		"no type":                 {`{"object":{"metadata":{"name":"a"}}}`, "without type or object"},
		"null object":             {`{"type":"ADDED","object":null}`, "metadata.name"},
		"no metadata":             {`{"type":"ADDED","object":{"kind":"Secret","data":{"a":"` + marker + `"}}}`, "no metadata"},
		"no name":                 {`{"type":"ADDED","object":{"kind":"Secret","metadata":{"uid":"u"}}}`, "metadata.name"},
		"name of another type":    {`{"type":"ADDED","object":{"kind":"Secret","metadata":{"name":{"a":"` + marker + `"}}}}`, "another type"},
		"Status":                  {`{"type":"ADDED","object":{"kind":"Status","apiVersion":"v1","metadata":{},"message":"` + marker + `"}}`, "Status"},
		"Table":                   {`{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}}`, "Table"},
		"bookmark without sense":  {`{"type":"BOOKMARK","object":"` + marker + `"}`, "bookmark"},
		"bookmark of wrong parts": {`{"type":"BOOKMARK","object":{"metadata":{"labels":"` + marker + `"}}}`, "bookmark"},
		"too large":               {big, "MaxItemSize"},
		"error without Status":    {`{"type":"ERROR","object":{"kind":"Secret","data":"` + marker + `"}}`, "without a Status"},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, answerJSON(added+row.tail))
			w, err := newClient[*Secret](t, rest.Config{BaseURL: server.URL, MaxItemSize: 20000}).Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			events := drain(w)
			if len(events) == 0 || events[0].Type != watch.Added {
				t.Fatalf("the event before is lost: %v", events)
			}
			if row.want == "" {
				if len(events) != 1 {
					t.Errorf("%d events", len(events))
				}
				return
			}
			if len(events) != 2 || events[1].Type != watch.Error {
				t.Fatalf("%d events", len(events))
			}
			err = apierrors.FromObject(events[1].Object)
			if !apierrors.IsInternalError(err) || !apierrors.IsUnexpectedServerError(err) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v", err)
			}
			wantDiscreet(t, err)
			if name != "error without Status" && !strings.Contains(err.Error(), "watch "+server.URL+"/api/v1/secrets") {
				t.Errorf("does not name operation and source: %v", err)
			}
		})
	}
}

// endless sends events until its request ends.
func endless(w http.ResponseWriter, req *http.Request) {
	for req.Context().Err() == nil {
		if _, err := io.WriteString(w, added); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}

func TestWatchEndsWithStop(t *testing.T) {
	server := serve(t, endless)
	w, err := newClient[*Secret](t, rest.Config{BaseURL: server.URL}).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	<-w.ResultChan()
	w.Stop()
	w.Stop()
	drain(w) // the channel closes; serve checks that nothing is left
}

// A reader that has left without Stop blocks nothing once its context has ended: serve
// checks that nothing is left.
func TestWatchEndsWithItsContextUnread(t *testing.T) {
	server := serve(t, endless)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w, err := newClient[*Secret](t, rest.Config{BaseURL: server.URL}).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for len(w.ResultChan()) < cap(w.ResultChan()) {
		runtime.Gosched() // until the next event has to wait
	}
}

func TestWatchStoppedWhileSilent(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	})
	w, err := newClient[*Secret](t, rest.Config{BaseURL: server.URL}).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	if events := drain(w); len(events) != 0 {
		t.Errorf("%v", events)
	}
}

// An event is handed over when it has come, not when the next one does.
func TestWatchDoesNotWaitForTheNextEvent(t *testing.T) {
	next := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, strings.TrimSpace(added))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-next:
			case <-req.Context().Done():
			}
		}
	})
	w, err := newClient[*Secret](t, rest.Config{BaseURL: server.URL}).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if event := <-w.ResultChan(); event.Type != watch.Added {
			t.Fatal(event.Type)
		}
		next <- struct{}{}
	}
	if events := drain(w); len(events) != 0 {
		t.Error(events)
	}
}

func TestWatchRefused(t *testing.T) {
	server := serve(t, answer(403, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`))
	_, err := newClient[*Secret](t, rest.Config{BaseURL: server.URL}).Watch(t.Context(), metav1.ListOptions{})
	wantReason(t, err, metav1.StatusReasonForbidden, 403)
	server = serve(t, answer(200, "text/html", marker))
	_, err = newClient[*Secret](t, rest.Config{BaseURL: server.URL}).Watch(t.Context(), metav1.ListOptions{})
	if !errors.Is(err, rest.ErrContentType) {
		t.Error(err)
	}
	wantDiscreet(t, err)
}
