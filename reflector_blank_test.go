// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// blank is a transform that takes version and UID off the very object that came.
func blank(obj *pod) (*pod, error) {
	obj.ResourceVersion, obj.UID = "", ""
	if obj.Spec == "poison" {
		return nil, errors.New("poison")
	}
	return obj, nil
}

// blanked runs an informer with that transform. The first watch brings the events and ends; it returns the versions that watches were
// opened at, and what the traces had to say of events.
func blanked(t *testing.T, events ...string) (opened, traced []string) {
	source := &informer.ListWatch{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			if len(opened) > 0 { // a look at the version
				return podList(fmt.Sprint(10 + len(events))), nil
			}
			return podList("10"), nil
		},
		WatchFunc: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			opened = append(opened, options.ResourceVersion)
			w := watch.NewFakeWithChanSize(len(events), false)
			if len(opened) == 1 {
				for _, event := range events {
					w.Action(parseEvent(event).Type, parseEvent(event).Object)
				}
				w.Stop()
			}
			return w, nil
		},
		NoWatchList: true,
	}
	mirror := informer.New(source, informer.Options[*pod]{
		Transform: blank,
		ReflectorOptions: informer.ReflectorOptions{Traces: []*informer.Trace{{
			Event: func(_, _, key, version string) { traced = append(traced, key+"@"+version) },
		}}},
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- mirror.Run(ctx) }()
	time.Sleep(time.Minute)
	synctest.Wait()
	stop()
	<-done
	return opened, traced
}

// A transform may blank the version of the very object that came: what the watch goes on
// from is the version that the source sent.
func TestBlankedVersionIsResumedFrom(t *testing.T) {
	for name, events := range map[string][]string{
		"an event":        {"+a@11/u"},
		"a run":           {"+a@11/u", "+b@12/u", "~a@13/u", "-b@14/u"},
		"poison":          {"+a@11/u {poison}"},
		"poison in a run": {"+a@11/u", "+b@12/u", "+c@13/u {poison}"},
		"a run, poison":   {"+a@11/u", "+c@12/u {poison}", "+b@13/u"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opened, traced := blanked(t, events...)
				if want := []string{"10", fmt.Sprint(10 + len(events))}; !slices.Equal(opened[:2], want) {
					t.Errorf("watches were opened at %q, want %q", opened, want)
				}
				for n, event := range traced {
					if want := fmt.Sprint("@", 11+n); event[len(event)-3:] != want {
						t.Errorf("event %d is traced as %s, want %s", n, event, want)
					}
				}
				if len(traced) != len(events) {
					t.Errorf("%d events were traced, want %d", len(traced), len(events))
				}
			})
		})
	}
}

// A transform that blanks the UID before it fails over an object does not keep another one,
// whose name that object has taken, in the mirror.
func TestBlankedPoisonTakesName(t *testing.T) {
	for name, source := range map[string]func() *script{
		"event": func() *script { return newScript().list(podList("10", "a@9/u")).watch("~a@11/v {poison}") },
		"relist": func() *script {
			return newScript().list(podList("10", "a@9/u"), podList("12", "a@11/v {poison}")).watch("ERR410")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := source().run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{Transform: blank})
				time.Sleep(time.Minute)
				synctest.Wait()
				if list := m.store.List(); len(list) != 0 || len(m.failures()) != 1 {
					t.Errorf("%d objects and %v, want the one that failed set aside", len(list), m.failures())
				}
				m.end(t)
			})
		})
	}
}
