// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// pod and secret are two types of objects that a source may send.
type pod struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec string
}

func (p *pod) DeepCopyObject() runtime.Object {
	c := *p
	c.ObjectMeta = *p.ObjectMeta.DeepCopy()
	return &c
}

type secret struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Data string
}

func (s *secret) DeepCopyObject() runtime.Object {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	return &c
}

// parse reads an object in the notation of the cases: name@version/uid {content}.
func parse(text string) *pod {
	text, content, _ := strings.Cut(text, " {")
	text, uid, _ := strings.Cut(text, "/")
	name, version, _ := strings.Cut(text, "@")
	return &pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version, UID: types.UID(uid)},
		Spec:       strings.TrimSuffix(content, "}"),
	}
}

// show is the inverse of parse, for a whole store.
func show(pods []*pod) []string {
	var out []string
	for _, p := range pods {
		text := p.Name + "@" + p.ResourceVersion
		if p.UID != "" {
			text += "/" + string(p.UID)
		}
		if p.Spec != "" {
			text += " {" + p.Spec + "}"
		}
		out = append(out, text)
	}
	return out
}

// podList answers a list at a version with items in the notation of the cases.
func podList(version string, items ...string) *informer.ObjectList[*pod] {
	list := &informer.ObjectList[*pod]{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, item := range items {
		list.Items = append(list.Items, parse(item))
	}
	return list
}

// status is an error of an API server.
func status(code int32, message string) *apierrors.StatusError {
	err := apierrors.NewGenericServerResponse(int(code), "get", schema.GroupResource{Resource: "pods"}, "", message, 0, false)
	err.ErrStatus.Message = message
	return err
}

func retryAfter(code int32, seconds int32) *apierrors.StatusError {
	err := status(code, http.StatusText(int(code)))
	err.ErrStatus.Details.RetryAfterSeconds = seconds
	return err
}

func tooLarge() *apierrors.StatusError {
	err := status(http.StatusGatewayTimeout, "Timeout: Too large resource version: 9, current: 5")
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// call is a request that a scripted source was sent.
type call struct {
	verb    string // list, watch or watch-list
	options metav1.ListOptions
	at      time.Duration // since the source was made
}

func (c call) String() string {
	switch c.verb {
	case "list":
		return "L(" + c.options.ResourceVersion + ")"
	case "page":
		return "P"
	case "check":
		return "C(" + c.options.ResourceVersion + ")"
	case "watch-list":
		return "WL(" + c.options.ResourceVersion + ")"
	}
	return "W(" + c.options.ResourceVersion + ")"
}

// script answers lists and watches from prepared answers, in order. When they are used
// up, a list is answered with the last one, and a watch stays silent.
type script struct {
	lists     []func() (runtime.Object, error)
	checks    []func() (runtime.Object, error) // of the version; then: as asked for
	watches   []func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	watchList bool
	down      func() error // nil: the source answers

	began time.Time
	mu    sync.Mutex
	calls []call
	open  int // streams that were not stopped
}

func newScript() *script { return &script{began: time.Now()} }

// list adds an answer to a list: a *informer.ObjectList, another object, or an error.
func (s *script) list(answers ...any) *script {
	for _, answer := range answers {
		s.lists = append(s.lists, func() (runtime.Object, error) {
			if err, ok := answer.(error); ok {
				return nil, err
			}
			return answer.(runtime.Object), nil
		})
	}
	return s
}

// checked adds an answer to a version check.
func (s *script) checked(answers ...any) *script {
	lists := s.lists
	s.lists = nil
	s.list(answers...)
	s.checks, s.lists = append(s.checks, s.lists...), lists
	return s
}

// watch adds an answer to a watch: an error that refuses it, or what the stream sends:
// "+a@9", "~a@9", "-a@9", "BM@9", "BM*@9", "ERR410", a watch.Event, a time.Duration to
// wait, or "close". A stream without a close stays open.
func (s *script) watch(steps ...any) *script {
	s.watches = append(s.watches, func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
		if len(steps) == 1 {
			if err, ok := steps[0].(error); ok {
				return nil, err
			}
		}
		return s.stream(ctx, steps), nil
	})
	return s
}

func (s *script) stream(ctx context.Context, steps []any) watch.Interface {
	results := make(chan watch.Event)
	w := &scriptedWatch{results: results, stopped: make(chan struct{})}
	s.mu.Lock()
	s.open++
	s.mu.Unlock()
	go func() {
		defer close(results)
		defer func() { s.mu.Lock(); s.open--; s.mu.Unlock() }()
		for _, step := range steps {
			if !w.play(ctx, step) {
				return
			}
		}
		select {
		case <-w.stopped:
		case <-ctx.Done():
		}
	}()
	return w
}

func (s *script) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Trim(fmt.Sprint(s.calls), "[]")
}

func (s *script) made() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

func (s *script) record(verb string, options metav1.ListOptions) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if family(c.verb) == family(verb) {
			n++
		}
	}
	s.calls = append(s.calls, call{verb, options, time.Since(s.began)})
	return n
}

// family is the row of answers that a verb is answered from.
func family(verb string) string {
	if verb == "watch-list" {
		return "watch"
	}
	return verb
}

func (s *script) List(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if s.down != nil {
		if err := s.down(); err != nil {
			s.record(map[bool]string{true: "check", false: "list"}[options.Limit == 1], options)
			return nil, err
		}
	}
	if options.Limit == 1 {
		if n := s.record("check", options); n < len(s.checks) {
			return s.checks[n]()
		}
		return podList(options.ResourceVersion), nil
	}
	n := s.record("list", options)
	return s.lists[min(n, len(s.lists)-1)]()
}

func (s *script) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	verb := "watch"
	if options.SendInitialEvents != nil {
		verb = "watch-list"
	}
	n := s.record(verb, options)
	if s.down != nil {
		if err := s.down(); err != nil {
			return nil, err
		}
	}
	if n < len(s.watches) {
		return s.watches[n](ctx, options)
	}
	return s.stream(ctx, nil), nil
}

func (s *script) IsWatchListSemanticsUnSupported() bool { return !s.watchList }

type scriptedWatch struct {
	results chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func (w *scriptedWatch) Stop()                          { w.once.Do(func() { close(w.stopped) }) }
func (w *scriptedWatch) ResultChan() <-chan watch.Event { return w.results }

// play does one step, and reports whether the stream goes on.
func (w *scriptedWatch) play(ctx context.Context, step any) bool {
	var event watch.Event
	switch step := step.(type) {
	case time.Duration:
		select {
		case <-time.After(step):
			return true
		case <-w.stopped:
			return false
		case <-ctx.Done():
			return false
		}
	case watch.Event:
		event = step
	case string:
		if step == "close" {
			return false
		}
		event = parseEvent(step)
	default:
		panic(fmt.Sprintf("script: %T", step))
	}
	select {
	case w.results <- event:
		return true
	case <-w.stopped:
		return false
	case <-ctx.Done():
		return false
	}
}

func parseEvent(text string) watch.Event {
	types := map[byte]watch.EventType{'+': watch.Added, '~': watch.Modified, '-': watch.Deleted}
	if eventType, ok := types[text[0]]; ok {
		return watch.Event{Type: eventType, Object: parse(text[1:])}
	}
	if code, ok := strings.CutPrefix(text, "ERR"); ok {
		var n int32
		fmt.Sscan(code, &n)
		return errorEvent(status(n, http.StatusText(int(n))))
	}
	head, version, _ := strings.Cut(text, "@")
	bookmark := &pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	if head == "BM*" {
		bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return watch.Event{Type: watch.Bookmark, Object: bookmark}
}

func errorEvent(err *apierrors.StatusError) watch.Event {
	return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
}

// mirror is a reflector that feeds a store from a script.
type mirror struct {
	*script
	store     *informer.Store[*pod]
	reflector *informer.Reflector
	mu        sync.Mutex
	errs      []error
	stop      context.CancelFunc
	done      chan error
}

// run starts a reflector over the script, on the fake time of the caller's bubble.
func (s *script) run(t *testing.T, options informer.ReflectorOptions, store informer.StoreOptions[*pod]) *mirror {
	t.Helper()
	m := &mirror{script: s, store: informer.NewStore(store), done: make(chan error, 1)}
	options.Name = "pods"
	options.OnError = func(_ context.Context, err error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.errs = append(m.errs, err)
	}
	m.reflector = informer.NewReflector(s, m.store, options)
	ctx, cancel := context.WithCancel(t.Context())
	m.stop = cancel
	go func() { m.done <- m.reflector.Run(ctx) }()
	return m
}

// end stops the reflector and checks that it leaves nothing behind.
func (m *mirror) end(t *testing.T) {
	t.Helper()
	m.stop()
	if err := <-m.done; err != nil {
		t.Errorf("Run: %v", err)
	}
	m.script.mu.Lock()
	defer m.script.mu.Unlock()
	if m.open != 0 {
		t.Errorf("%d streams were not ended", m.open)
	}
}

func (m *mirror) failures() []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]error(nil), m.errs...)
}
