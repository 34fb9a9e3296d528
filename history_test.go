// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

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
