// SPDX-License-Identifier: Apache-2.0

package pager_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/informerkit/informer/pager"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// script is a server that answers request n as byte n says: a failure, or a page with an object named
// after the request and one of few tokens. When the bytes are used up, the list ends.
type script []byte

func (s script) answer(n int) (*list, error) {
	page := &list{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(n)}}
	if n > len(s) {
		return page, nil
	}
	b := s[n-1]
	switch b % 8 {
	case 0:
		return nil, errExpired
	case 1:
		return nil, errBusy
	case 2:
		return page, nil
	case 3: // empty
	default:
		page.Items = append(page.Items, object(n))
	}
	page.Continue = fmt.Sprint("t", b/8)
	return page, nil
}

// read is the model: the rules of the package in one plain loop.
func (s script) read(restarts bool) (names []string, version string, requests []string, err error) {
	token, full, page := "", false, 1
	seen := map[string]bool{}
	for n := 1; ; n++ {
		limit := 500
		if full {
			limit = 0
		}
		requests = append(requests, fmt.Sprintf("//%d/%s", limit, token))
		got, err := s.answer(n)
		switch {
		case err == nil:
		case page == 1:
			return names, "", requests, err
		case apierrors.IsTooManyRequests(err):
			continue
		case full || !restarts && len(names) > 0:
			return names, "", requests, err
		default:
			names, token, full, page, seen = nil, "", true, 1, map[string]bool{}
			continue
		}
		if seen[got.Continue] {
			return names, "", requests, pager.ErrRepeatedToken
		}
		for _, item := range got.Items {
			names = append(names, item.Name)
		}
		if page == 1 {
			version = got.ResourceVersion
		}
		if token = got.Continue; token == "" {
			return names, version, requests, nil
		}
		seen[token] = true
		page++
	}
}

// FuzzTokens compares what comes of any sequence of tokens and failures with the model.
func FuzzTokens(f *testing.F) {
	f.Add([]byte{4, 12, 20}, uint8(0), true)
	f.Add([]byte{4, 4}, uint8(1), true)
	f.Add([]byte{4, 0, 4, 12, 0}, uint8(2), true)
	f.Add([]byte{3, 0, 12}, uint8(3), false)
	f.Add([]byte{4, 1, 1, 12, 0, 2}, uint8(2), false)
	f.Fuzz(func(t *testing.T, answers []byte, prefetch uint8, restarts bool) {
		s := script(answers)
		var names, requests []string
		o := pager.Options{
			Prefetch: int(prefetch%5) - 1,
			Retry:    func(context.Context, int, error) error { return nil },
		}
		if restarts {
			o.Restart = func() { names = nil }
		}
		p := pager.New(func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
			requests = append(requests, line(options))
			page, err := s.answer(len(requests))
			if err != nil {
				return nil, err
			}
			return page, nil
		}, o)
		info, err := p.EachItem(t.Context(), metav1.ListOptions{}, func(obj runtime.Object) error {
			names = append(names, obj.(*metav1.PartialObjectMetadata).Name)
			return nil
		})
		wantNames, wantVersion, wantRequests, wantErr := s.read(restarts)
		if !errors.Is(err, wantErr) || info.ResourceVersion != wantVersion {
			t.Errorf("got %q, %v; want %q, %v", info.ResourceVersion, err, wantVersion, wantErr)
		}
		if !slices.Equal(names, wantNames) || !slices.Equal(requests, wantRequests) {
			t.Errorf("got  %v, %q\nwant %v, %q", names, requests, wantNames, wantRequests)
		}
	})
}
