// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// streamedPods is a script whose lists are streamedPods, with a hash by content.
type streamedPods struct{ *script }

func (s streamedPods) ListStream(ctx context.Context, options metav1.ListOptions, known func(metav1.Object, uint64) bool, yield func(runtime.Object) error) (metav1.ListMeta, error) {
	answer, err := s.List(ctx, options)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	list := answer.(*informer.ObjectList[*pod])
	for _, item := range list.Items {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: item.Namespace, Name: item.Name, UID: item.UID, ResourceVersion: item.ResourceVersion,
		}}
		if known != nil && known(m, hashOf(item)) {
			continue
		}
		if err := yield(item); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return list.ListMeta, nil
}

func hashOf(p *pod) (hash uint64) {
	for _, c := range p.Name + "@" + p.ResourceVersion + p.Spec {
		hash = hash*31 + uint64(c)
	}
	return hash
}

// A relist that recognises an object by its hash keeps it under the key that the KeyFunc
// gave it, and not under namespace/name.
func TestRelistKeepsByKeyFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().list(podList("10", "a@5/u1", "b@6/u2"), podList("20", "a@5/u1", "b@7/u2")).
			watch("ERR410")
		i := informer.New(streamedPods{s}, informer.Options[*pod]{
			KeyFunc: func(p *pod) (string, error) { return "cluster/" + p.Name, nil },
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go i.Run(ctx)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		keys := i.Store().Keys()
		slices.Sort(keys)
		if want := []string{"cluster/a", "cluster/b"}; !slices.Equal(keys, want) {
			t.Errorf("after a relist the store has %q, want %q; calls %v", keys, want, s)
		}
	})
}

// An object that was set aside comes off the list with its next good version, whatever
// key it has.
func TestQuarantineEndsByKeyFunc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().list(podList("10")).watch("+bad@11", time.Minute, "~bad@12 {good}")
		i := informer.New(s, informer.Options[*pod]{
			KeyFunc: func(p *pod) (string, error) { return "cluster/" + p.Name, nil },
			Transform: func(p *pod) (*pod, error) {
				if p.Spec == "" {
					return nil, errors.New("no")
				}
				return p, nil
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go i.Run(ctx)
		time.Sleep(time.Second)
		if q := i.Status().Quarantined; len(q) != 1 || q[0].Key != "cluster/bad" {
			t.Errorf("set aside: %v", q)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if q := i.Status().Quarantined; len(q) != 0 || i.Store().Len() != 1 {
			t.Errorf("set aside: %v, with %d objects in the store", q, i.Store().Len())
		}
	})
}
