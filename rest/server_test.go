// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

// Secret is a type of the shape that API types have.
type Secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Data              map[string][]byte    `json:"data,omitempty"`
	Count             int64                `json:"count,omitempty"`
	Ratio             *float64             `json:"ratio,omitempty"`
	Port              intstr.IntOrString   `json:"port,omitempty"`
	Ready             bool                 `json:"ready,omitempty"`
	Extra             runtime.RawExtension `json:"extra,omitempty"`
	Free              map[string]any       `json:"free,omitempty"`
	When              metav1.Time          `json:"when,omitempty"`
	Parts             []Part               `json:"parts,omitempty"`
}

// Part is a struct in a list.
type Part struct {
	Name  string            `json:"name"`
	Label map[string]string `json:"label,omitempty"`
}

// DeepCopyObject is shallow, which is enough for a test.
func (s *Secret) DeepCopyObject() runtime.Object { out := *s; return &out }

// marker is content that must never get out, and its forms.
const marker = "MARKER-zebra-quagga"

var markerForms = []string{marker, "zebra", base64.StdEncoding.EncodeToString([]byte(marker)), fmt.Sprint([]byte(marker))}

func secrets(namespace string) rest.Resource {
	return rest.Resource{Version: "v1", Resource: "secrets", Namespace: namespace}
}

func newClient[T informer.Object](t testing.TB, config rest.Config) *rest.Client[T] {
	t.Helper()
	client, err := rest.New[T](config, secrets(""))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// serve starts a server and checks at the end that no goroutine of this package is left.
func serve(t testing.TB, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	t.Cleanup(func() { checkLeak(t) })
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close) // waits for all requests
	return server
}

// checkLeak lets a watcher that was told to end do so, and no other.
func checkLeak(t testing.TB) {
	var stacks strings.Builder
	for range 10_000 {
		stacks.Reset()
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		if !strings.Contains(stacks.String(), "rest.(*watcher") {
			return
		}
		goruntime.Gosched()
	}
	t.Errorf("a watcher is left:\n%s", &stacks)
}

// answer is a handler that always says the same.
func answer(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func answerJSON(body string) http.HandlerFunc { return answer(200, "application/json", body) }

// collect lists and returns what was yielded.
func collect[T informer.Object](ctx context.Context, client *rest.Client[T]) ([]runtime.Object, metav1.ListMeta, error) {
	var objects []runtime.Object
	meta, err := client.ListStream(ctx, metav1.ListOptions{}, nil, func(obj runtime.Object) error {
		objects = append(objects, obj)
		return nil
	})
	return objects, meta, err
}

// drain reads a watch to its end, which the server must bring about.
func drain(w watch.Interface) []watch.Event {
	var events []watch.Event
	for event := range w.ResultChan() {
		events = append(events, event)
	}
	return events
}

// recorder keeps the requests of a server.
type recorder struct {
	mu       sync.Mutex
	requests []*http.Request
}

func (r *recorder) record(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.requests = append(r.requests, req)
		r.mu.Unlock()
		next(w, req)
	}
}

func (r *recorder) all() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests
}
