// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// reporter is what a reflector tells the world: Status, waits, the hook, traces and the
// log. A failure is told to the first four each time; the log has it once per state
// change; Failures counts them all.
type reporter struct {
	name    string
	onError func(ctx context.Context, err error)
	traces  []*Trace
	bell    func() // rung when failed or poison changes; nil: nobody listens
	fell    func() // called after each failure; nil: nobody listens

	poisoned atomic.Bool // poison is not empty

	mu      sync.Mutex
	status  SourceStatus
	failed  error                  // since the last good contact
	changed chan struct{}          // closed when failed or poison changes
	poison  map[string]Quarantined // by namespace/name, for events know no KeyFunc
	logged  string                 // what the log knows of the failures
	notes   map[string]noted       // what asks for no delay, by kind
}

// noted is when a note was logged last, and how often it was not since.
type noted struct {
	at       time.Time
	unlogged int
}

// noteAgain is when a note that comes again and again is logged once more.
const noteAgain = 10 * time.Minute

func newReporter(o *ReflectorOptions) *reporter {
	return &reporter{
		name:    o.Name,
		onError: o.OnError,
		traces:  o.Traces,
		status: SourceStatus{
			Name: o.Name, Phase: PhaseStopped, Since: time.Now(),
			Relists: map[string]int{}, Remaining: -1,
		},
		changed: make(chan struct{}),
		poison:  map[string]Quarantined{},
		notes:   map[string]noted{},
	}
}

// watched has two functions called, before Run.
func (r *reporter) watched(bell, fell func()) { r.bell, r.fell = bell, fell }

// each calls fn for every trace.
func (r *reporter) each(fn func(t *Trace)) {
	for _, t := range r.traces {
		if t != nil {
			fn(t)
		}
	}
}

func (r *reporter) current() SourceStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	status := r.status
	status.Relists = maps.Clone(status.Relists)
	return status
}

func (r *reporter) version() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.ResourceVersion
}

func (r *reporter) last() (<-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed, r.failed
}

func (r *reporter) aside() []Quarantined {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.poison), func(a, b Quarantined) int {
		return strings.Compare(a.Key, b.Key)
	})
}

// wakeLocked tells who waits that failed or poison has changed.
func (r *reporter) wakeLocked() {
	close(r.changed)
	r.changed = make(chan struct{})
	if r.bell != nil {
		r.bell()
	}
}

func (r *reporter) phase(phase Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phaseLocked(phase)
}

func (r *reporter) phaseLocked(phase Phase) {
	if r.status.Phase != phase {
		r.status.Phase, r.status.Since = phase, time.Now()
	}
}

// listing says that a list, or a watch-list, begins.
func (r *reporter) listing(phase Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phaseLocked(phase)
	r.status.Listed, r.status.Remaining = 0, -1
}

// listed says how far a list has come.
func (r *reporter) listed(items int, remaining int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Listed, r.status.Remaining = int64(items), remaining
	r.status.LastContact = time.Now()
}

// progress is listed, between two pages.
func (r *reporter) progress(items int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Listed = int64(items)
	r.status.LastContact = time.Now()
}

// waiting says that the backoff runs.
func (r *reporter) waiting(delay time.Duration, err error) {
	r.phase(PhaseBackoff)
	r.each(func(t *Trace) {
		if t.Backoff != nil {
			t.Backoff(r.name, delay, err)
		}
	})
}

// relist counts a list that recovery asks for.
func (r *reporter) relist(reason string) {
	r.mu.Lock()
	r.status.Relists[reason]++
	r.mu.Unlock()
	r.each(func(t *Trace) {
		if t.Relist != nil {
			t.Relist(r.name, reason)
		}
	})
}

// contact says that the source answered. That alone does not end a row of failures: a
// stream that opens and breaks is no better than one that does not open.
func (r *reporter) contact() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.LastContact = time.Now()
}

// abandoned counts a List function that ignored its context, and was left behind.
func (r *reporter) abandoned() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Abandoned++
}

// committed says that a list is in the sink, and which of its objects are not.
func (r *reporter) committed(ctx context.Context, version string, aside map[string]Quarantined) {
	if r.take(version, aside) {
		r.good(ctx)
	}
}

// setAsideAll lists the objects that a list could not bring.
func (r *reporter) setAsideAll(aside map[string]Quarantined) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.poison, aside)
	r.poisoned.Store(len(r.poison) > 0)
}

// take notes what a list has brought, and reports whether that is a sign of health.
func (r *reporter) take(version string, aside map[string]Quarantined) (good bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.ResourceVersion, r.status.Synced = version, true
	r.phaseLocked(PhaseWatching)
	clear(r.poison)
	maps.Copy(r.poison, aside)
	r.poisoned.Store(len(r.poison) > 0)
	r.wakeLocked()
	r.status.LastContact = time.Now()
	failure, ok := errors.AsType[*SourceError](r.failed)
	return !ok || failure.Operation != "watch" // a list says nothing about a watch that fails
}

// historyBreak is loud: the collection went back, and what it held since is gone.
func (r *reporter) historyBreak(ctx context.Context, from, to string) {
	err := &SourceError{Source: r.name, Operation: "list", Err: fmt.Errorf("%w: from %s to %s", ErrHistoryBreak, from, to)}
	klog.FromContext(ctx).Error(err, "Source was restored to an older state, and mirrored anew", "source", r.name, "from", from, "to", to)
	r.each(func(t *Trace) {
		if t.HistoryBreak != nil {
			t.HistoryBreak(r.name, from, to)
		}
	})
	if r.onError != nil {
		r.onError(ctx, err)
	}
}

// cutBy says whether the server cuts the shard out.
func (r *reporter) cutBy(server bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.ServerShard = server
}

// reached says that the version to resume from has moved.
func (r *reporter) reached(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.ResourceVersion = version
	r.status.LastContact = time.Now()
}

// good says that the source is well again. The log is written without the lock: a logger
// may ask for Status.
func (r *reporter) good(ctx context.Context) {
	if failures, was := r.forget(); was {
		klog.FromContext(ctx).Info("Source is well again", "source", r.name, "failures", failures)
	}
}

// forget drops the failures and returns how many there were, if any.
func (r *reporter) forget() (failures int, was bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.LastContact = time.Now()
	if r.failed == nil {
		return 0, false
	}
	failures = r.status.Failures
	r.failed, r.logged = nil, ""
	r.status.Failures, r.status.LastError = 0, ""
	r.wakeLocked()
	return failures, true
}

// failure counts a failure of the source and tells everybody.
func (r *reporter) failure(ctx context.Context, err error) {
	r.mu.Lock()
	r.status.Failures++
	r.status.LastError = err.Error()
	r.failed = err
	r.wakeLocked()
	failures, news := r.status.Failures, r.newsLocked(err)
	r.mu.Unlock()
	if news {
		klog.FromContext(ctx).Error(err, "Source fails", "source", r.name, "failures", failures)
	}
	if r.fell != nil {
		r.fell()
	}
	if r.onError != nil {
		r.onError(ctx, err)
	}
}

// newsLocked reports whether the log does not know the failure yet. It goes by what the
// failure means: the text of one may hold an address, or a timeout drawn at random, and a
// source that fails is asked in turns for its initial events and for a list.
func (r *reporter) newsLocked(err error) bool {
	if kind := kindOfFailure(err); kind != r.logged {
		r.logged = kind
		return true
	}
	return false
}

// kindOfFailure is the same for failures that mean the same.
func kindOfFailure(err error) string {
	kind := classify(err).reason()
	if object, ok := errors.AsType[*ObjectError](err); ok {
		kind += " " + object.Key
	}
	if index, ok := errors.AsType[*IndexError](err); ok {
		kind += " " + index.Index
	}
	if errors.Is(err, ErrWrongType) {
		kind += " of another type"
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		kind += " " + string(status.Status().Reason)
	}
	return kind
}

// note tells of what asks for no delay: of a stall, of a resync, of an index.
func (r *reporter) note(ctx context.Context, err error) {
	if unlogged, news := r.noteworthy(err); news {
		klog.FromContext(ctx).Info("Source needs attention", "source", r.name, "err", err, "unlogged", unlogged)
	}
	if r.onError != nil {
		r.onError(ctx, err)
	}
}

// noteworthy reports whether the log is to have a note: the first of its kind, and then
// one in a while, with the number of those in between.
func (r *reporter) noteworthy(err error) (unlogged int, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kind, now := kindOfFailure(err), time.Now()
	if named, ok := errors.AsType[*SourceError](err); ok {
		kind += " " + named.Operation
	}
	last, known := r.notes[kind]
	if known && now.Sub(last.at) < noteAgain {
		last.unlogged++
		r.notes[kind] = last
		return 0, false
	}
	r.notes[kind] = noted{at: now}
	return last.unlogged, true
}

// setAside lists an object that an event could not bring.
func (r *reporter) setAside(ctx context.Context, m metav1.Object, err *ObjectError) {
	r.noteObject(ctx, m, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.poison[JoinKey(m.GetNamespace(), m.GetName())] = quarantineOf(err)
	r.poisoned.Store(true)
	r.wakeLocked()
}

// noteObject tells of an object that is set aside. The log has it once for each version.
func (r *reporter) noteObject(ctx context.Context, m metav1.Object, err *ObjectError) {
	r.mu.Lock()
	known := r.poison[JoinKey(m.GetNamespace(), m.GetName())] == quarantineOf(err)
	r.mu.Unlock()
	if !known {
		klog.FromContext(ctx).Error(err.Err, "Object is set aside", "source", r.name,
			"key", err.Key, "uid", err.UID, "resourceVersion", err.ResourceVersion)
	}
	if r.onError != nil {
		r.onError(ctx, err)
	}
}

// applied takes an object off the list of those set aside.
func (r *reporter) applied(m metav1.Object) {
	if !r.poisoned.Load() { // nearly always, and this is done for each event
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := JoinKey(m.GetNamespace(), m.GetName())
	if _, aside := r.poison[name]; aside {
		delete(r.poison, name)
		r.poisoned.Store(len(r.poison) > 0)
		r.wakeLocked()
	}
}

// event tells the traces of an event.
func (r *reporter) event(e arrival, m metav1.Object) {
	r.each(func(t *Trace) {
		if t.Event != nil {
			t.Event(r.name, string(e.Type), JoinKey(m.GetNamespace(), m.GetName()), e.version)
		}
	})
}
