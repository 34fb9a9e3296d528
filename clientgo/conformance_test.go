// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/clientgo"
	"github.com/informerkit/informer/informertest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
)

// behaviour is something that client-go's documentation says of a SharedIndexInformer.
type behaviour struct {
	id    string
	says  string
	fails string // why client-go's own implementation does not do it; "": it does
	check func(e *env)
}

// TestMain does without the handlers of apimachinery: one of them remembers across tests when
// it was last called, and on fake time waits for decades.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers, utilruntime.PanicHandlers = nil, nil
	os.Exit(m.Run())
}

// TestConformance runs every behaviour on both implementations. Where client-go fails, it has to
// fail: a row that it has learned meanwhile is to be unmarked.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, b := range slices.Concat(storeBehaviours, handlerBehaviours, settingBehaviours, edgeBehaviours, shapeBehaviours) {
		t.Run(b.id, func(t *testing.T) {
			t.Run("informer", func(t *testing.T) {
				for _, failure := range b.run(t, clientgo.NewSharedIndexInformer) {
					t.Errorf("%s: %s", b.says, failure)
				}
			})
			t.Run("client-go", func(t *testing.T) {
				failures := b.run(t, cache.NewSharedIndexInformer)
				switch {
				case b.fails == "" && len(failures) > 0:
					t.Errorf("%s: %q", b.says, failures)
				case b.fails != "" && len(failures) == 0:
					t.Errorf("%s: client-go does it now, although: %s", b.says, b.fails)
				}
			})
		})
	}
}

type constructor = func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer

func (b behaviour) run(t *testing.T, construct constructor) (failures []string) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv(t, construct, 0)
		b.check(e)
		e.stop()
		failures = e.failures
	})
	return failures
}

// env is an informer of config maps on a collection in memory, on fake time.
type env struct {
	t        *testing.T
	make     constructor
	source   *informertest.Collection[*corev1.ConfigMap]
	lw       cache.ListerWatcher
	informer cache.SharedIndexInformer

	cancel   context.CancelFunc // nil: it does not run
	returned chan struct{}

	mu       sync.Mutex
	failures []string
}

func newEnv(t *testing.T, construct constructor, resync time.Duration) *env {
	e := &env{t: t, make: construct, source: informertest.NewCollection(t, configMap("a"), configMap("b"))}
	e.lw = &cache.ListWatch{
		ListWithContextFunc:  e.source.List,
		WatchFuncWithContext: e.source.Watch,
	}
	e.renew(resync)
	return e
}

// renew makes another informer, with a period for resyncs.
func (e *env) renew(resync time.Duration) {
	e.informer = e.make(e.lw, &corev1.ConfigMap{}, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func (e *env) errorf(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures = append(e.failures, fmt.Sprintf(format, args...))
}

// noError ends the test for what is no behaviour of an informer.
func (e *env) noError(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) start() {
	ctx, cancel := context.WithCancel(e.t.Context())
	e.cancel, e.returned = cancel, make(chan struct{})
	go func() {
		defer close(e.returned)
		e.informer.RunWithContext(ctx)
	}()
	e.settle()
}

func (e *env) stop() {
	if e.cancel != nil {
		e.cancel()
		<-e.returned
	}
	synctest.Wait()
}

// settle lets pass what takes time: delays, batches, polls.
func (e *env) settle() {
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

func (e *env) create(names ...string) {
	for _, name := range names {
		_, err := e.source.Create(e.t.Context(), configMap(name))
		e.noError(err)
	}
	synctest.Wait()
}

func (e *env) update(name, value string) {
	obj, err := e.source.Get(e.t.Context(), "ns", name)
	e.noError(err)
	obj.Data = map[string]string{"value": value}
	_, err = e.source.Update(e.t.Context(), obj)
	e.noError(err)
	synctest.Wait()
}

func (e *env) delete(name string) {
	e.noError(e.source.Delete(e.t.Context(), "ns", name))
	synctest.Wait()
}

// away has the server unreachable and forgetful while change runs.
func (e *env) away(change func()) {
	e.source.FailWhile(func(informertest.Request) bool { return true }, errAway)
	e.source.CutStreams()
	synctest.Wait()
	change()
	e.source.Compact()
	e.source.Recover()
	time.Sleep(2 * time.Minute)
	synctest.Wait()
}

// handler adds a recorder.
func (e *env) handler() *recorder {
	r := &recorder{env: e}
	registration, err := e.informer.AddEventHandler(r)
	e.noError(err)
	r.registration = registration
	synctest.Wait()
	return r
}

// want compares what a recorder heard since the last time.
func (e *env) want(r *recorder, want ...string) {
	synctest.Wait()
	got := r.take()
	if !slices.Equal(got, want) {
		e.errorf("the handler heard %q, want %q", got, want)
	}
}

// wantSet is want where the order is free.
func (e *env) wantSet(r *recorder, want ...string) {
	synctest.Wait()
	got := r.take()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		e.errorf("the handler heard %q, want %q in any order", got, want)
	}
}

func (e *env) wantKeys(want ...string) {
	keys := e.informer.GetStore().ListKeys()
	slices.Sort(keys)
	if !slices.Equal(keys, want) {
		e.errorf("the store has %q, want %q", keys, want)
	}
}

// recorder writes down what it is told, a line a call.
type recorder struct {
	env          *env
	registration cache.ResourceEventHandlerRegistration
	block        chan struct{} // if it is not nil, each call waits for it

	mu    sync.Mutex
	lines []string
	last  any // of the last call
}

func (r *recorder) OnAdd(obj any, initial bool) {
	line := "add " + name(obj)
	if initial {
		line += " initial"
	}
	r.write(line, obj)
}

func (r *recorder) OnUpdate(before, after any) {
	r.write(fmt.Sprintf("update %s %s>%s", name(after), value(before), value(after)), after)
}

func (r *recorder) OnDelete(obj any) {
	if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		r.write("lost "+unknown.Key+" "+value(unknown.Obj), obj)
		return
	}
	r.write("delete "+name(obj), obj)
}

func (r *recorder) write(line string, obj any) {
	if r.block != nil {
		<-r.block
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines, r.last = append(r.lines, line), obj
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

func name(obj any) string {
	m, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Sprintf("%T", obj)
	}
	return m.GetName()
}

func value(obj any) string {
	m, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return fmt.Sprintf("%T", obj)
	}
	return m.Data["value"]
}
