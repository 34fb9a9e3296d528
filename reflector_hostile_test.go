// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Events with a nil pointer for an object are failures of the stream, of any type and in
// any phase, and no panic.
func TestEventOfNilPointer(t *testing.T) {
	nils := []runtime.Object{nil, (*pod)(nil), (*unstructured.Unstructured)(nil), (*informer.Undecodable)(nil), (*metav1.Status)(nil)}
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		for _, obj := range nils {
			for _, initial := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%T/%v", kind, obj, initial), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newScript().list(podList("10", "a@5")).watch(watch.Event{Type: kind, Object: obj})
						s.watchList = initial
						m := s.run(t, informer.ReflectorOptions{InitialEventsTimeout: time.Second}, informer.StoreOptions[*pod]{})
						time.Sleep(2 * time.Minute)
						synctest.Wait()
						if !m.store.HasSynced() || len(m.failures()) == 0 {
							t.Errorf("synced: %v, failures: %v", m.store.HasSynced(), m.failures())
						}
						m.end(t)
					})
				})
			}
		}
	}
}

// A nil pointer in the place of a list is no list, of whatever type.
func TestListOfNilPointer(t *testing.T) {
	for _, list := range []runtime.Object{(*informer.ObjectList[*pod])(nil), (*unstructured.Unstructured)(nil), (*unstructured.UnstructuredList)(nil), (*metav1.Status)(nil)} {
		t.Run(fmt.Sprintf("%T", list), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newScript().list(list).run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
				synctest.Wait()
				if got := m.failures(); len(got) != 1 || !errors.Is(got[0], informer.ErrNotAList) {
					t.Errorf("reported %v", got)
				}
				m.end(t)
			})
		})
	}
}

// plainList is a list whose items are no objects.
type plainList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []struct{ Secret string }
}

func (l *plainList) DeepCopyObject() runtime.Object { return l }

// P10: what is wrong with a list is said without its content.
func TestListOfNoObjectsIsDiscreet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().list(&plainList{Items: []struct{ Secret string }{{"marker"}}})
		m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
		synctest.Wait()
		got := fmt.Sprint(m.failures())
		if strings.Contains(got, "marker") || !strings.Contains(got, "not a list of objects") {
			t.Errorf("reported %s", got)
		}
		m.end(t)
	})
}

// An ERROR event counts the same whether its Status is typed or not.
func TestErrorEventUnstructured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := &unstructured.Unstructured{Object: map[string]any{
			"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": int64(410),
		}}
		s := newScript().list(podList("10"), podList("20")).watch(watch.Event{Type: watch.Error, Object: gone})
		m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := m.String(); got != "L(0) W(10) L(10) W(20)" {
			t.Errorf("calls: %s; reported %v", got, m.failures())
		}
		m.end(t)
	})
}
