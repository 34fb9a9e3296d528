// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

type infObject = *metav1.PartialObjectMetadata

// infObj reads "name@version/uid {content}"; version, uid and content may be missing.
func infObj(text string) infObject {
	text, content, _ := strings.Cut(text, " ")
	text, uid, _ := strings.Cut(text, "/")
	name, version, _ := strings.Cut(text, "@")
	obj := &metav1.PartialObjectMetadata{}
	obj.Name, obj.ResourceVersion, obj.UID = name, version, types.UID(uid)
	if content != "" {
		obj.Labels = map[string]string{"content": strings.Trim(content, "{}")}
	}
	return obj
}

// infSource is a collection that the test edits, and whose events the test sends.
type infSource struct {
	mu      sync.Mutex
	version string
	objects map[string]infObject
	names   []string // in the order of the list
	fail    error    // of lists
	watch   *infWatch
	asked   []string // versions and timeouts of watches
}

// infCollection is a source with a first list.
func infCollection(version string, objects ...string) *infSource {
	s := &infSource{}
	s.set(version, objects...)
	return s
}

// set changes what the next list returns; nobody is told.
func (s *infSource) set(version string, objects ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.objects, s.names = version, map[string]infObject{}, nil
	for _, text := range objects {
		obj := infObj(text)
		s.objects[obj.Name] = obj
		s.names = append(s.names, obj.Name)
	}
}

// relist makes the next list return this, asks for it, and waits out the backoff.
func (s *infSource) relist(version string, objects ...string) {
	s.set(version, objects...)
	s.send(watch.Event{Type: watch.Error, Object: &apierrors.NewResourceExpired("expired").ErrStatus})
	time.Sleep(time.Minute)
	synctest.Wait()
}

// event sends "+a@5", "~a@6", "-a@7" or "=9", a bookmark, after which lists are as the
// events have it.
func (s *infSource) event(text string) {
	kinds := map[byte]watch.EventType{'+': watch.Added, '~': watch.Modified, '-': watch.Deleted, '=': watch.Bookmark}
	event := watch.Event{Type: kinds[text[0]], Object: infObj(text[1:])}
	if event.Type == watch.Bookmark {
		event.Object = infObj("@" + text[1:])
	}
	s.apply(event)
	s.send(event)
}

func (s *infSource) apply(event watch.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := event.Object.(infObject)
	if order, err := resourceversion.CompareResourceVersion(s.version, obj.ResourceVersion); err == nil && order < 0 {
		s.version = obj.ResourceVersion
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		if s.objects[obj.Name] == nil {
			s.names = append(s.names, obj.Name)
		}
		s.objects[obj.Name] = obj
	case watch.Deleted:
		delete(s.objects, obj.Name)
		s.names = slices.DeleteFunc(s.names, func(name string) bool { return name == obj.Name })
	}
}

func (s *infSource) send(event watch.Event) {
	s.mu.Lock()
	w := s.watch
	s.mu.Unlock()
	if w == nil {
		panic("no watch is open")
	}
	select {
	case w.events <- event:
	case <-w.done:
	}
}

func (s *infSource) List(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	list := &informer.ObjectList[infObject]{ListMeta: metav1.ListMeta{ResourceVersion: s.version}}
	for _, name := range s.names {
		list.Items = append(list.Items, s.objects[name])
	}
	return list, ctx.Err()
}

func (s *infSource) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch = &infWatch{events: make(chan watch.Event), done: make(chan struct{})}
	timeout := "long"
	if *options.TimeoutSeconds == 4 {
		timeout = "4"
	}
	s.asked = append(s.asked, options.ResourceVersion+" "+timeout)
	return s.watch, nil
}

func (*infSource) IsWatchListSemanticsUnSupported() bool { return true }

type infWatch struct {
	events chan watch.Event
	once   sync.Once
	done   chan struct{}
}

func (w *infWatch) Stop()                          { w.once.Do(func() { close(w.done) }) }
func (w *infWatch) ResultChan() <-chan watch.Event { return w.events }

// infRecorder is a handler that writes down what it is told, and checks that each key
// lives as it should.
type infRecorder struct {
	t       *testing.T
	block   chan struct{} // each call waits for it; nil: none does
	sources bool          // write down the sources too
	mu      sync.Mutex
	changes []string
	shown   map[string]infObject
}

func (r *infRecorder) Handle(_ context.Context, c informer.Change[infObject]) {
	if r.block != nil {
		<-r.block
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shown == nil {
		r.shown = map[string]infObject{}
	}
	shown, there := r.shown[c.Key]
	if there == (c.Type == informer.Added) || c.Type == informer.Updated && c.Old != shown {
		r.t.Errorf("told %s after %q", infShow(c), r.changes)
	}
	if c.Type == informer.Deleted {
		delete(r.shown, c.Key)
	} else {
		r.shown[c.Key] = c.New
	}
	text := infShow(c)
	if r.sources {
		text += " " + c.Source
	}
	r.changes = append(r.changes, text)
}

// infShow writes a change as "Watch ~a@5:6", with a ? where the final state is unknown.
func infShow(c informer.Change[infObject]) string {
	switch {
	case c.Type == informer.Added:
		return fmt.Sprintf("%s +%s@%s", c.Cause, c.Key, c.New.ResourceVersion)
	case c.Type == informer.Updated:
		return fmt.Sprintf("%s ~%s@%s:%s", c.Cause, c.Key, c.Old.ResourceVersion, c.New.ResourceVersion)
	case c.FinalStateUnknown:
		return fmt.Sprintf("%s -%s@%s?", c.Cause, c.Key, c.Old.ResourceVersion)
	default:
		return fmt.Sprintf("%s -%s@%s", c.Cause, c.Key, c.Old.ResourceVersion)
	}
}

// told returns what came since the last call of told.
func (r *infRecorder) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	changes := r.changes
	r.changes = nil
	return changes
}

func (r *infRecorder) expect(want ...string) {
	r.t.Helper()
	if got := r.told(); !slices.Equal(got, want) {
		r.t.Errorf("told %q, want %q", got, want)
	}
}

// sameAs checks that the handler knows what the store holds.
func (r *infRecorder) sameAs(store informer.View[infObject]) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	held := maps.Collect(store.All())
	if !maps.Equal(held, r.shown) {
		r.t.Errorf("the store holds %v, the handler was shown %v", held, r.shown)
	}
}

// infRun is an informer that runs, on fake time.
type infRun struct {
	*informer.Informer[infObject]
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
}

func infStart(t *testing.T, i *informer.Informer[infObject]) *infRun {
	ctx, cancel := context.WithCancel(t.Context())
	r := &infRun{Informer: i, t: t, cancel: cancel, done: make(chan error, 1)}
	go func() { r.done <- i.Run(ctx) }()
	synctest.Wait()
	return r
}

// end ends Run, and expects that it says nothing.
func (r *infRun) end() {
	r.t.Helper()
	r.cancel()
	if err := <-r.done; err != nil {
		r.t.Errorf("Run: %v", err)
	}
}

// record adds a recorder.
func (r *infRun) record(options informer.HandlerOptions) (*infRecorder, *informer.Registration) {
	r.t.Helper()
	return infRecord(r.t, r.Informer, options)
}

func infRecord(t *testing.T, i *informer.Informer[infObject], options informer.HandlerOptions) (*infRecorder, *informer.Registration) {
	t.Helper()
	h := &infRecorder{t: t}
	registration, err := i.AddHandler(h, options)
	if err != nil {
		t.Fatal(err)
	}
	return h, registration
}

// infTest runs a test on fake time, with an informer of the source and a recorder that
// was there from the start.
func infTest(t *testing.T, name string, source *infSource, test func(t *testing.T, r *infRun, h *infRecorder)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			i := informer.New(source, informer.Options[infObject]{})
			h, _ := infRecord(t, i, informer.HandlerOptions{})
			r := infStart(t, i)
			defer r.end()
			test(t, r, h)
			synctest.Wait()
			h.sameAs(i.Store())
		})
	})
}
