// SPDX-License-Identifier: Apache-2.0

package pager_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type list = metav1.PartialObjectMetadataList

var (
	errExpired = apierrors.NewResourceExpired("the token is too old")
	errBusy    = apierrors.NewTooManyRequests("busy", 1)
	errNoMatch = apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil)
)

// server answers lists of the objects o0, o1 … and notes the requests.
type server struct {
	objects int
	version string                                        // of its lists; "": "7"
	before  func(n int, options metav1.ListOptions) error // of request n, from 1; nil: none
	after   func(n int, page *list)                       // changes the answer; nil: nobody
	mu      sync.Mutex
	asked   []metav1.ListOptions
}

func (s *server) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	s.asked = append(s.asked, options)
	n := len(s.asked)
	s.mu.Unlock()
	if s.before != nil {
		if err := s.before(n, options); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	page, err := s.page(options)
	if err == nil && s.after != nil {
		s.after(n, page)
	}
	return page, err
}

// page answers as a kube-apiserver does: a token is the number of the next object.
func (s *server) page(options metav1.ListOptions) (*list, error) {
	first := 0
	if options.Continue != "" {
		if options.ResourceVersion != "" || options.ResourceVersionMatch != "" {
			return nil, errNoMatch
		}
		first, _ = strconv.Atoi(strings.TrimPrefix(options.Continue, "from-"))
	}
	last := s.objects
	if options.Limit > 0 {
		last = min(last, first+int(options.Limit))
	}
	page := &list{ListMeta: metav1.ListMeta{ResourceVersion: s.version}}
	if s.version == "" {
		page.ResourceVersion = "7"
	}
	for i := first; i < last; i++ {
		page.Items = append(page.Items, object(i))
	}
	if last < s.objects {
		rest := int64(s.objects - last)
		page.Continue, page.RemainingItemCount = fmt.Sprint("from-", last), &rest
	}
	return page, nil
}

func (s *server) requests() []metav1.ListOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func object(i int) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("o", i)}}
}

// at fails the requests with these numbers.
func at(failures map[int]error) func(int, metav1.ListOptions) error {
	return func(n int, _ metav1.ListOptions) error { return failures[n] }
}

// names returns the names of the objects of a list.
func names(t *testing.T, whole runtime.Object) []string {
	t.Helper()
	var names []string
	err := meta.EachListItem(whole, func(obj runtime.Object) error {
		accessor, err := meta.Accessor(obj)
		if err == nil {
			names = append(names, accessor.GetName())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// upTo returns the names of the first n objects.
func upTo(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("o", i))
	}
	return names
}

// line writes a request in short: version/match/limit/token.
func line(o metav1.ListOptions) string {
	return fmt.Sprintf("%s/%s/%d/%s", o.ResourceVersion, o.ResourceVersionMatch, o.Limit, o.Continue)
}

func wantRequests(t *testing.T, s *server, want ...string) {
	t.Helper()
	var got []string
	for _, o := range s.requests() {
		got = append(got, line(o))
	}
	if !slices.Equal(got, want) {
		t.Errorf("requests %q\nwant     %q", got, want)
	}
}
