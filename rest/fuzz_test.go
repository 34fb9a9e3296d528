// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// canned answers every request with the same body, without a network.
type canned struct {
	code int
	body []byte
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(c.body)), Request: req, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func cannedConfig(code int, body []byte) rest.Config {
	return rest.Config{BaseURL: "http://server", HTTPClient: &http.Client{Transport: canned{code, body}}, MaxItemSize: 1 << 16}
}

func FuzzListBody(f *testing.F) {
	for _, body := range []string{typed, sorted, list(itemA), list(`{"metadata":{"name":"a"},"count":"x"}`), `{"kind":"Table"}`, `{"kind":"Status","status":"Failure","code":410}`, `{`, ``} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		config := cannedConfig(200, body)
		named := func(obj runtime.Object) error { return wantNamed(t, obj) }
		// The forms differ in what they make of an item, not in whether there is a list.
		_, typedErr := newClient[*metav1.PartialObjectMetadata](t, config).ListStream(t.Context(), metav1.ListOptions{}, nil, named)
		count := 0
		_, err := newClient[*unstructured.Unstructured](t, config).ListStream(t.Context(), metav1.ListOptions{}, nil, func(obj runtime.Object) error {
			count++
			return wantNamed(t, obj)
		})
		if (err == nil) != (typedErr == nil) {
			t.Errorf("as metadata: %v; unstructured: %v", typedErr, err)
		}
		known := 0
		_, knownErr := newClient[*Secret](t, config).ListStream(t.Context(), metav1.ListOptions{}, func(metav1.Object, uint64) bool {
			known++
			return true
		}, func(runtime.Object) error {
			t.Error("a known item is yielded")
			return nil
		})
		if err == nil && (knownErr != nil || known != count) {
			t.Errorf("%d items are asked for and %d yielded: %v", known, count, knownErr)
		}
	})
}

func FuzzWatchStream(f *testing.F) {
	for _, body := range []string{added, deleted, bookmark, gone, added + bookmark, `{"type":"ADDED"}`, `{"object":null}`, `{"type":"BOOKMARK","object":{"metadata":{"labels":5}}}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		config := cannedConfig(200, body)
		w, err := newClient[*Secret](t, config).Watch(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantEvents(t, w)
		u, err := newClient[*unstructured.Unstructured](t, config).Watch(context.Background(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantEvents(t, u)
	})
}

func wantNamed(t *testing.T, obj runtime.Object) error {
	if m, ok := obj.(metav1.Object); !ok || m.GetName() == "" {
		t.Errorf("an object without a name is handed over: %T", obj)
	}
	return nil
}

// wantEvents reads a watch to its end. Nothing in it is empty, and only bookmarks and errors
// have no name.
func wantEvents(t *testing.T, w watch.Interface) {
	for _, event := range drain(w) {
		switch {
		case event.Object == nil || event.Type == "":
			t.Errorf("%+v", event)
		case event.Type != watch.Bookmark && event.Type != watch.Error:
			_ = wantNamed(t, event.Object)
		}
	}
}

func FuzzStatus(f *testing.F) {
	for _, body := range []string{`{"kind":"Status","status":"Failure","code":410,"details":{"retryAfterSeconds":5}}`, `{"reason":"x"}`, `<html>`, ``} {
		f.Add([]byte(body), uint16(410))
	}
	f.Fuzz(func(t *testing.T, body []byte, code uint16) {
		if code = 300 + code%300; code < 400 {
			return // net/http's own, with a Location
		}
		_, err := newClient[*Secret](t, cannedConfig(int(code), body)).List(t.Context(), metav1.ListOptions{})
		if _, ok := unwrapAll(err).(apierrors.APIStatus); !ok {
			t.Errorf("%d: %v", code, err)
		}
	})
}
