// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// patientClient repeats a list at a version of the future for 44 s, as client-go does with an answer
// that has a Retry-After.
type patientClient struct{ *script }

func (c patientClient) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := c.script.List(ctx, options)
	if err == nil {
		return list, nil
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(44 * time.Second):
		return nil, err
	}
}

// TestVersionCheckThroughPatientClient: a restored backend is found without waiting for a client
// that asks again and again.
func TestVersionCheckThroughPatientClient(t *testing.T) {
	t.Run("fake time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript().list(podList("100", "a@90/A"), podList("50", "a@60/B")).
				watch(3*time.Second, "close").checked(tooLarge(), podList("50", "a@60/B"))
			store := informer.NewStore(informer.StoreOptions[*pod]{})
			r := informer.NewReflector(patientClient{s}, store, informer.ReflectorOptions{})
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			time.Sleep(20 * time.Second)
			synctest.Wait()
			if got, want := s.String(), "L(0) W(100) C(100) C() L() W(50)"; got != want {
				t.Errorf("calls %s; want %s", got, want)
			}
			if got, want := show(store.List()), []string{"a@60/B"}; !slices.Equal(got, want) {
				t.Errorf("store %q; want %q", got, want)
			}
			stop()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	})
}

// noMatchSource refuses resourceVersionMatch, as servers do that do not know it.
type noMatchSource struct{ *informertest.Collection[*pod] }

func (s noMatchSource) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.ResourceVersionMatch != "" {
		return nil, status(http.StatusBadRequest, "unknown parameter")
	}
	return s.Collection.List(ctx, options)
}

// A source that does not know the match is checked by its newest version.
func TestVersionCheckWithoutMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := informertest.NewCollection(t, parse("a"), parse("b"))
		store := informer.NewStore(informer.StoreOptions[*pod]{})
		var broken []error
		reflector := informer.NewReflector(&informer.ListWatch{
			ListFunc: noMatchSource{pods}.List, WatchFunc: pods.Watch, NoWatchList: true,
		}, store, informer.ReflectorOptions{OnError: func(_ context.Context, err error) {
			if errors.Is(err, informer.ErrHistoryBreak) {
				broken = append(broken, err)
			}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- reflector.Run(ctx) }()
		synctest.Wait()
		before := pods.Snapshot()
		must(pods.Create(t.Context(), parse("c")))(t)
		synctest.Wait()
		pods.Compact()
		must(pods.Update(t.Context(), parse("c {x}")))(t)
		pods.CutStreams() // what is lost is listed, and the match refused
		time.Sleep(2 * time.Minute)
		pods.Restore(before)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		pods.RequireEqual(t, store)
		if len(broken) != 1 {
			t.Errorf("told %v", broken)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
