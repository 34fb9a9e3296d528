// SPDX-License-Identifier: Apache-2.0

package pager_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/informerkit/informer/pager"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// secret must not come up in an error.
const secret = "hunter2"

// answers returns a list function that gives these pages one after the other.
func answers(pages ...runtime.Object) pager.ListFunc {
	return func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		page := pages[0]
		pages = pages[1:]
		return page, nil
	}
}

func unstructuredList(token string, names ...string) *unstructured.UnstructuredList {
	l := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ThingList"}}
	l.SetResourceVersion("7")
	if token != "" {
		l.SetContinue(token)
		rest := int64(1)
		l.SetRemainingItemCount(&rest)
	}
	for _, name := range names {
		l.Items = append(l.Items, unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}})
	}
	return l
}

func first() *list { return &list{ListMeta: metav1.ListMeta{Continue: "next", ResourceVersion: "7"}} }

func TestNotAList(t *testing.T) {
	thing := map[string]any{"apiVersion": "v1", "kind": "Thing", "data": secret}
	status := map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success", "message": secret}
	for _, tt := range []struct {
		name string
		page runtime.Object
		want string
	}{
		{"nil", nil, "nil"},
		{"nil pointer", (*list)(nil), "nil"},
		{"single object", &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: secret}}, "*v1.PartialObjectMetadata"},
		{"single unstructured", &unstructured.Unstructured{Object: thing}, "*unstructured.Unstructured (Thing)"},
		{"Table", &metav1.Table{TypeMeta: metav1.TypeMeta{Kind: "Table"}}, "*v1.Table (Table)"},
		{"Status of a success", &metav1.Status{Status: metav1.StatusSuccess, Message: secret}, "*v1.Status"},
		{"unstructured Status of a success", &unstructured.Unstructured{Object: status}, "*unstructured.Unstructured (Status)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for page, pages := range [][]runtime.Object{1: {tt.page}, 2: {first(), tt.page}} {
				if pages == nil {
					continue
				}
				o := pager.Options{Retry: func(context.Context, int, error) error {
					t.Error("asked about it")
					return errWhy
				}}
				got, err := pager.New(answers(pages...), o).List(t.Context(), metav1.ListOptions{})
				if got != nil || !errors.Is(err, pager.ErrNotList) {
					t.Fatalf("page %d: %v, %v", page, got, err)
				}
				if text := err.Error(); !strings.HasSuffix(text, ": "+tt.want) || strings.Contains(text, secret) || page == 2 && !strings.HasPrefix(text, "page 2: ") {
					t.Errorf("page %d: %q", page, text)
				}
			}
		})
	}
}

// A Status that describes a failure is that failure, and treated like one.
func TestStatusInPlaceOfAPage(t *testing.T) {
	expired := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}
	gone := map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": int64(410), "reason": "Gone"}
	for _, status := range []runtime.Object{expired, &unstructured.Unstructured{Object: gone}} {
		_, err := pager.New(answers(status), pager.Options{}).List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			t.Errorf("page one: %v", err)
		}
		whole := &list{Items: []metav1.PartialObjectMetadata{object(1)}}
		got, err := pager.New(answers(first(), status, whole), pager.Options{}).List(t.Context(), metav1.ListOptions{})
		if err != nil || got != runtime.Object(whole) {
			t.Errorf("page two: %v, %v", got, err)
		}
	}
}

func TestOnePageIsReturnedAsItCame(t *testing.T) {
	rest := int64(3) // odd, but the server's
	page := &list{ListMeta: metav1.ListMeta{RemainingItemCount: &rest}}
	got, err := pager.New(answers(page), pager.Options{}).List(t.Context(), metav1.ListOptions{})
	if err != nil || got != runtime.Object(page) || page.RemainingItemCount != &rest {
		t.Errorf("%v, %v", got, err)
	}
}

// The full list is as it came, although pages had been merged before.
func TestFullListIsReturnedAsItCame(t *testing.T) {
	expired := &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired}
	rest := int64(3)
	second, full := first(), &list{ListMeta: metav1.ListMeta{RemainingItemCount: &rest}}
	second.Continue = "third"
	got, err := pager.New(answers(first(), second, expired, full), pager.Options{}).List(t.Context(), metav1.ListOptions{})
	if err != nil || got != runtime.Object(full) || full.RemainingItemCount != &rest {
		t.Errorf("%v, %v", got, err)
	}
}

func TestListMergesPages(t *testing.T) {
	generic := func(token string, names ...string) *metav1.List {
		l := &metav1.List{ListMeta: metav1.ListMeta{Continue: token, ResourceVersion: "7"}}
		for _, name := range names {
			l.Items = append(l.Items, runtime.RawExtension{Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}})
		}
		return l
	}
	for name, pages := range map[string][]runtime.Object{
		"unstructured": {unstructuredList("a", "o0", "o1"), unstructuredList("b"), unstructuredList("", "o2")},
		"generic":      {generic("a", "o0", "o1"), generic("b"), generic("", "o2")},
	} {
		t.Run(name, func(t *testing.T) {
			one := pages[0]
			got, err := pager.New(answers(pages...), pager.Options{}).List(t.Context(), metav1.ListOptions{})
			if err != nil || got != one || !slices.Equal(names(t, got), upTo(3)) {
				t.Fatalf("%v, %v", got, err)
			}
			info := got.(metav1.ListInterface)
			if info.GetContinue() != "" || info.GetRemainingItemCount() != nil || info.GetResourceVersion() != "7" {
				t.Errorf("metadata %q, %v, %q", info.GetContinue(), info.GetRemainingItemCount(), info.GetResourceVersion())
			}
		})
	}
}

func TestPagesOfTwoTypes(t *testing.T) {
	_, err := pager.New(answers(first(), unstructuredList("", secret)), pager.Options{}).List(t.Context(), metav1.ListOptions{})
	if !errors.Is(err, pager.ErrNotList) || !strings.HasPrefix(err.Error(), "page 2: ") || strings.Contains(err.Error(), secret) {
		t.Errorf("got %v", err)
	}
}

func TestBadItems(t *testing.T) {
	good := runtime.RawExtension{Object: &metav1.PartialObjectMetadata{}}
	page := &metav1.List{Items: []runtime.RawExtension{good, good, {Raw: []byte(secret)}, good}}
	items := 0
	_, err := pager.New(answers(page), pager.Options{}).EachItem(t.Context(), metav1.ListOptions{}, func(runtime.Object) error {
		items++
		return nil
	})
	if !errors.Is(err, pager.ErrNotList) || !strings.Contains(err.Error(), "item 2 of *v1.List") || strings.Contains(err.Error(), secret) || items != 2 {
		t.Errorf("%v after %d items", err, items)
	}
}

// The metadata that a walk returns are page one's, the echo of a shard selector included.
func TestMetadataOfTheList(t *testing.T) {
	typed := first()
	typed.ShardInfo = &metav1.ShardInfo{Selector: "half"}
	loose := unstructuredList("next")
	loose.Object["metadata"].(map[string]any)["shardInfo"] = map[string]any{"selector": "half"}
	for _, page := range []runtime.Object{typed, loose} {
		second := &list{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
		info, err := pager.New(answers(page, second), pager.Options{}).EachPage(t.Context(), metav1.ListOptions{}, func(runtime.Object) error { return nil })
		if err != nil || info.ResourceVersion != "7" || info.ShardInfo == nil || info.ShardInfo.Selector != "half" {
			t.Errorf("%T: %+v, %v", page, info, err)
		}
	}
	info, err := pager.New(answers(unstructuredList("")), pager.Options{}).EachPage(t.Context(), metav1.ListOptions{}, func(runtime.Object) error { return nil })
	if err != nil || info.ShardInfo != nil {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestImpossibleArgumentsPanic(t *testing.T) {
	for _, call := range []func(){
		func() { pager.New(nil, pager.Options{}) },
		func() { _, _ = pager.Walk(t.Context(), metav1.ListOptions{}, nil, pager.Options{}) },
	} {
		if message, _ := catch(call).(string); !strings.HasPrefix(message, "informer: pager: ") {
			t.Errorf("panic %q", message)
		}
	}
}
