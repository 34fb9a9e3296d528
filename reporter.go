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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// reporter is what a reflector tells the world: Status, waits, the hook, traces and the
// log. A failure is told to the first four each time; the log has it once per state
// change; Failures counts them all.
type reporter struct {
	name    string
	onError func(ctx context.Context, err error)
	traces  []*Trace

	poisoned atomic.Bool // poison is not empty

	mu        sync.Mutex
	status    SourceStatus
	failed    error                  // since the last good contact
	changed   chan struct{}          // closed when failed or poison changes
	poison    map[string]Quarantined // by namespace/name, for events know no KeyFunc
	lastAside map[string]string      // version and UID that the log has last, by key
	logged    string                 // what the log knows of the failures
}

func newReporter(o *ReflectorOptions) *reporter {
	return &reporter{
		name:    o.Name,
		onError: o.OnError,
		traces:  o.Traces,
		status: SourceStatus{
			Name: o.Name, Phase: PhaseStopped, Since: time.Now(),
			Relists: map[string]int{}, Remaining: -1,
		},
		changed:   make(chan struct{}),
		poison:    map[string]Quarantined{},
		lastAside: map[string]string{},
	}
}

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
	defer r.good(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.ResourceVersion = version
	r.phaseLocked(PhaseWatching)
	clear(r.poison)
	maps.Copy(r.poison, aside)
	r.poisoned.Store(len(r.poison) > 0)
	r.wakeLocked()
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
	if r.onError != nil {
		r.onError(ctx, err)
	}
}

// newsLocked reports whether the log does not know the failure yet. It goes by what the
// failure means: the text of one may hold an address, or a timeout drawn at random.
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
	if named, ok := errors.AsType[*SourceError](err); ok {
		kind += " " + named.Operation
	}
	if object, ok := errors.AsType[*ObjectError](err); ok {
		kind += " " + object.Key
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		kind += " " + string(status.Status().Reason)
	}
	return kind
}

// note tells of what asks for no delay: of one object, of a stall, of a resync.
func (r *reporter) note(ctx context.Context, err error) {
	if object, ok := errors.AsType[*ObjectError](err); ok {
		if r.newlyAside(object) {
			klog.FromContext(ctx).Error(object.Err, "Object is set aside", "source", r.name,
				"key", object.Key, "uid", object.UID, "resourceVersion", object.ResourceVersion)
		}
	} else {
		klog.FromContext(ctx).Info("Source needs attention", "source", r.name, "err", err)
	}
	if r.onError != nil {
		r.onError(ctx, err)
	}
}

// newlyAside reports whether the log does not know yet that this version was set aside.
func (r *reporter) newlyAside(err *ObjectError) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.lastAside[err.Key]
	now := err.ResourceVersion + " " + string(err.UID)
	if last == now && err.ResourceVersion != "" {
		return false
	}
	if len(r.lastAside) >= maxLogged {
		clear(r.lastAside)
	}
	r.lastAside[err.Key] = now
	return true
}

// maxLogged bounds what is remembered of the log.
const maxLogged = 1000

// setAside lists an object that an event could not bring.
func (r *reporter) setAside(ctx context.Context, m metav1.Object, err *ObjectError) {
	r.mu.Lock()
	r.poison[JoinKey(m.GetNamespace(), m.GetName())] = quarantineOf(err)
	r.poisoned.Store(true)
	r.wakeLocked()
	r.mu.Unlock()
	r.note(ctx, err)
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
func (r *reporter) event(event watch.EventType, m metav1.Object) {
	r.each(func(t *Trace) {
		if t.Event != nil {
			t.Event(r.name, string(event), JoinKey(m.GetNamespace(), m.GetName()), m.GetResourceVersion())
		}
	})
}
