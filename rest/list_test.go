// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	itemA    = `{"metadata":{"name":"a","namespace":"n","uid":"u1","resourceVersion":"5"},"count":1}`
	itemB    = `{"metadata":{"name":"b","namespace":"n","uid":"u2","resourceVersion":"6"},"count":2}`
	listMeta = `"metadata":{"resourceVersion":"100","continue":"next","remainingItemCount":7}`
	typed    = `{"kind":"SecretList","apiVersion":"v1",` + listMeta + `,"items":[` + itemA + `,` + itemB + `]}`
	sorted   = `{"apiVersion":"v1","items":[` + itemA + `,` + itemB + `],"kind":"SecretList",` + listMeta + `}`
)

func TestListMembersInAnyOrder(t *testing.T) {
	for name, body := range map[string]string{"kind first": typed, "sorted": sorted} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, answerJSON(body))
			config := rest.Config{BaseURL: server.URL}

			objects, meta, err := collect(t.Context(), newClient[*Secret](t, config))
			if err != nil || len(objects) != 2 {
				t.Fatal(len(objects), err)
			}
			b := objects[1].(*Secret)
			if b.Name != "b" || b.UID != "u2" || b.ResourceVersion != "6" || b.Count != 2 || b.Kind != "" {
				t.Errorf("second: %+v", b)
			}
			if meta.ResourceVersion != "100" || meta.Continue != "next" || meta.RemainingItemCount == nil || *meta.RemainingItemCount != 7 {
				t.Errorf("metadata: %+v", meta)
			}

			objects, _, err = collect(t.Context(), newClient[*unstructured.Unstructured](t, config))
			if err != nil || len(objects) != 2 {
				t.Fatal(len(objects), err)
			}
			for _, obj := range objects {
				u := obj.(*unstructured.Unstructured)
				if u.GetKind() != "Secret" || u.GetAPIVersion() != "v1" {
					t.Errorf("kind is not the list's: %v", u.Object)
				}
			}

			objects, _, err = collect(t.Context(), newClient[*metav1.PartialObjectMetadata](t, config))
			if err != nil || len(objects) != 2 {
				t.Fatal(len(objects), err)
			}
			if m := objects[0].(*metav1.PartialObjectMetadata); m.Name != "a" || m.Kind != "PartialObjectMetadata" {
				t.Errorf("metadata alone: %+v", m)
			}
		})
	}
}

// Items that wait for the kind of their list keep their place.
func TestOrderOfItemsThatWait(t *testing.T) {
	b := `{"kind":"Odd","apiVersion":"v2","metadata":{"name":"b"}}`
	server := serve(t, answerJSON(`{"apiVersion":"v1","items":[`+itemA+`,`+b+`,`+itemA+`],"kind":"SecretList","metadata":{}}`))
	objects, _, err := collect(t.Context(), newClient[*unstructured.Unstructured](t, rest.Config{BaseURL: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, obj := range objects {
		u := obj.(*unstructured.Unstructured)
		got = append(got, u.GetAPIVersion()+u.GetKind()+u.GetName())
	}
	if want := []string{"v1Secreta", "v2Oddb", "v1Secreta"}; !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
}

func TestListOfNothing(t *testing.T) {
	for _, body := range []string{
		`{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}`,
		`{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":null}`,
		` {"items" : [ ] , "metadata" : {"resourceVersion" : "9"} } ` + "\n",
		`{"kind":"SecretList","metadata":{"resourceVersion":"9"}}`,
	} {
		server := serve(t, answerJSON(body))
		objects, meta, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
		if err != nil || len(objects) != 0 || meta.ResourceVersion != "9" {
			t.Errorf("%s: %d objects, %+v, %v", body, len(objects), meta, err)
		}
	}
}

func TestListWhole(t *testing.T) {
	server := serve(t, answerJSON(typed))
	list, err := newClient[*Secret](t, rest.Config{BaseURL: server.URL}).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	whole := list.(*informer.ObjectList[*Secret])
	if len(whole.Items) != 2 || whole.Items[0].Name != "a" || whole.ResourceVersion != "100" || whole.Kind != "SecretList" {
		t.Errorf("%+v", whole)
	}
}

func TestKnownItemsAreSkipped(t *testing.T) {
	server := serve(t, answerJSON(typed))
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL})
	hashes := map[string]uint64{}
	ask := func(skip string) (asked, yielded []string) {
		_, err := client.ListStream(t.Context(), metav1.ListOptions{}, func(item metav1.Object, hash uint64) bool {
			asked = append(asked, fmt.Sprint(item.GetNamespace(), "/", item.GetName(), item.GetUID(), item.GetResourceVersion()))
			if before, ok := hashes[item.GetName()]; ok && before != hash {
				t.Errorf("%s: hash of equal bytes differs", item.GetName())
			}
			hashes[item.GetName()] = hash
			return item.GetName() == skip
		}, func(obj runtime.Object) error {
			yielded = append(yielded, obj.(*Secret).Name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return asked, yielded
	}
	for skip, want := range map[string][]string{"": {"a", "b"}, "a": {"b"}, "b": {"a"}} {
		asked, yielded := ask(skip)
		if !reflect.DeepEqual(yielded, want) || !reflect.DeepEqual(asked, []string{"n/au15", "n/bu26"}) {
			t.Errorf("skip %q: asked %v, yielded %v", skip, asked, yielded)
		}
	}
	if hashes["a"] == hashes["b"] {
		t.Error("hashes of different bytes are equal")
	}
}

// An item that is known costs no more than the strings that are asked for, in one piece.
func TestKnownItemsAllocateLittle(t *testing.T) {
	client := newClient[*Pod](t, rest.Config{BaseURL: "http://server", HTTPClient: &http.Client{Transport: canned{200, podList()}}})
	for name, test := range map[string]struct {
		known func(item metav1.Object, hash uint64) bool
		most  float64
	}{
		"by hash":     {func(metav1.Object, uint64) bool { return true }, 0.2},
		"by identity": {func(m metav1.Object, _ uint64) bool { return m.GetName() != "" && m.GetResourceVersion() != "" }, 1.2},
	} {
		got := testing.AllocsPerRun(5, func() {
			_, err := client.ListStream(t.Context(), metav1.ListOptions{}, test.known, func(runtime.Object) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
		}) / benchItems
		if got > test.most {
			t.Errorf("%s: %.2f allocations an item, want %.1f at most", name, got, test.most)
		}
	}
}

func TestErrorOfYieldEndsTheList(t *testing.T) {
	server := serve(t, answerJSON(typed))
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL})
	for _, stop := range []error{errors.New("enough"), io.EOF} {
		calls := 0
		_, err := client.ListStream(t.Context(), metav1.ListOptions{}, nil, func(runtime.Object) error {
			calls++
			return stop
		})
		if err != stop || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
	}
}

func TestObjectOfAnotherKindIsNotForcedIntoT(t *testing.T) {
	body := `{"kind":"SecretList","apiVersion":"v1","metadata":{},"items":[` +
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"odd"}},{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}]}`
	server := serve(t, answerJSON(body))
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL})
	objects, _, err := collect(t.Context(), client)
	if err != nil || len(objects) != 2 {
		t.Fatal(len(objects), err)
	}
	if m, ok := objects[0].(*metav1.PartialObjectMetadata); !ok || m.Kind != "ConfigMap" || m.Name != "odd" {
		t.Errorf("%#v", objects[0])
	}
	if s, ok := objects[1].(*Secret); !ok || s.Name != "a" {
		t.Errorf("%#v", objects[1])
	}
	if _, err := client.List(t.Context(), metav1.ListOptions{}); !errors.Is(err, informer.ErrWrongType) {
		t.Errorf("whole list: %v", err)
	}
}

func TestRequest(t *testing.T) {
	var seen recorder
	server := serve(t, seen.record(answerJSON(typed)))
	config := rest.Config{BaseURL: server.URL + "/prefix/", UserAgent: "agent", BearerToken: "abc"}
	client, err := rest.New[*metav1.PartialObjectMetadata](config, rest.Resource{Group: "g.io", Version: "v1", Resource: "things", Namespace: "n"})
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	options := metav1.ListOptions{
		LabelSelector: "a in (b,c)", FieldSelector: "metadata.name=x", ResourceVersion: "7", Limit: 500,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Continue: "c==", SendInitialEvents: &yes,
	}
	if _, err := client.List(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	timeout := int64(300)
	w, err := client.Watch(t.Context(), metav1.ListOptions{AllowWatchBookmarks: true, TimeoutSeconds: &timeout})
	if err != nil {
		t.Fatal(err)
	}
	drain(w)

	list, watched := seen.all()[0], seen.all()[1]
	if got := list.URL.Path; got != "/prefix/apis/g.io/v1/namespaces/n/things" {
		t.Error(got)
	}
	if got, want := list.URL.Query().Encode(), "continue=c%3D%3D&fieldSelector=metadata.name%3Dx&labelSelector=a+in+%28b%2Cc%29&limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan&sendInitialEvents=true"; got != want {
		t.Errorf("list: %s\nwant: %s", got, want)
	}
	if got := watched.URL.Query().Encode(); got != "allowWatchBookmarks=true&timeoutSeconds=300&watch=true" {
		t.Errorf("watch: %s", got)
	}
	for header, want := range map[string]string{"User-Agent": "agent", "Authorization": "Bearer abc", "Accept-Encoding": "gzip"} {
		if got := list.Header.Get(header); got != want {
			t.Errorf("%s: %q", header, got)
		}
	}
	if got := list.Header.Get("Accept"); !strings.HasPrefix(got, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,") {
		t.Error(got)
	}
	if got := watched.Header.Get("Accept"); !strings.HasPrefix(got, "application/json;as=PartialObjectMetadata;") {
		t.Error(got)
	}
	if got := watched.Header.Get("Accept-Encoding"); got != "identity" {
		t.Error(got)
	}
}

// zip compresses what a handler writes.
func zip(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		next(zipped{w, z}, req)
		_ = z.Close()
	}
}

type zipped struct {
	http.ResponseWriter
	w io.Writer
}

func (z zipped) Write(p []byte) (int, error) { return z.w.Write(p) }

func TestCompressedList(t *testing.T) {
	server := serve(t, zip(answerJSON(typed)))
	for name, client := range map[string]*http.Client{"own": nil, "default": http.DefaultClient} {
		objects, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL, HTTPClient: client}))
		if err != nil || len(objects) != 2 {
			t.Errorf("%s: %d objects, %v", name, len(objects), err)
		}
	}
}

func TestCompressedRefusal(t *testing.T) {
	server := serve(t, zip(answer(410, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)))
	_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
	wantReason(t, err, metav1.StatusReasonExpired, 410)
}

func TestListEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the cause")
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, typed[:len(typed)-2])
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
	})
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL})
	seen := 0
	_, err := client.ListStream(ctx, metav1.ListOptions{}, nil, func(runtime.Object) error {
		if seen++; seen == 2 {
			cancel(cause)
		}
		return nil
	})
	if !errors.Is(err, cause) || seen != 2 {
		t.Errorf("after %d: %v", seen, err)
	}
}
