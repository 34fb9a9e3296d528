// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/informerkit/informer/pager"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
)

// A mirror that has lost an event, or whose store somebody wrote to, does not find that out
// by itself: versions go on from where they were. Verify compares it with a list of exactly
// the version that it stands at. At equal versions every difference is a fault of the mirror.

// drainTimeout is how long the queue may take until everything in it is in the store. A
// mirror that is further behind is compared next time.
const drainTimeout = 30 * time.Second

// errVerifyVersion is a list that is not of the version that was asked for.
var errVerifyVersion = errors.New("list of another version than asked for")

// repairer is a Replacement that knows what its Commit has changed.
type repairer interface {
	watchRepairs() // called before the first Put
	repairs() []*ObjectError
}

// planVerify sets the time of the next one: the period, and up to a tenth of it more, so
// that many reflectors do not verify at once.
func (r *Reflector) planVerify() {
	if period := r.options.Verify; period > 0 {
		r.verifyAt = time.Now().Add(period + rand.N(period/10+1))
	}
}

// verifyDue reports whether it is time, and R is a version that a list can be had at.
func (r *Reflector) verifyDue() bool {
	return !r.verifyAt.IsZero() && !time.Now().Before(r.verifyAt)
}

// verifyIfDue compares the mirror with a list at R, repairs it, and tells. Whatever goes
// wrong is no failure of the source: nothing is changed then, and the next time comes. The
// error is that of ctx, or errBroken.
func (r *Reflector) verifyIfDue(ctx context.Context, s *stream) error {
	if !r.verifyDue() {
		return nil
	}
	repaired, err := r.verify(ctx)
	r.planVerify()
	s.quiet = time.Time{} // the stream was not read meanwhile
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.report.verified(ctx, repaired, err)
	if errors.Is(err, errBroken) {
		return err
	}
	return nil
}

func (r *Reflector) verify(ctx context.Context) ([]*ObjectError, error) {
	if !ordered(r.reached) {
		return nil, fmt.Errorf("no list can be had at exactly %q", r.reached)
	}
	staging, err := r.target.beginVerify(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.compareAll(ctx, staging); err != nil {
		if classify(err) == classTooLarge || refusesOptions(err) {
			err = r.ahead(ctx, err)
		}
		return nil, err
	}
	r.noMatch, r.history.plain = false, false // it knows the match, whatever it said before
	if err := r.noted(ctx, staging.commit(r.reached)); err != nil {
		return nil, err
	}
	return staging.repaired(), nil
}

// compareAll stages a list at exactly the version that the mirror has reached, and aborts it
// if that is not to be had, be it that the source has panicked.
func (r *Reflector) compareAll(ctx context.Context, staging staging) error {
	complete := false
	defer func() {
		if !complete {
			staging.abort()
		}
	}()
	options := r.listOptions(r.reached, false)
	options.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	list, err := r.walkBeside(ctx, options, func(obj runtime.Object) error { return r.compare(staging, obj) })
	if err != nil {
		return err
	}
	if list.ResourceVersion != r.reached {
		return fmt.Errorf("%w: %s, not %s", errVerifyVersion, list.ResourceVersion, r.reached)
	}
	complete = true
	return nil
}

// ahead finds out whether a list that could not be had at R is none because the source was
// restored to an older state, and not because it lags. A source that the version check costs
// too much, because it ignores the limit, shows it here.
func (r *Reflector) ahead(ctx context.Context, err error) error {
	if r.history.blind { // its versions say nothing, but a list does
		if classify(err) == classTooLarge {
			return fmt.Errorf("%w, as the source says", errBroken)
		}
		return err
	}
	now, fault := r.newest(ctx)
	if fault != nil || !older(now, r.reached) {
		return err
	}
	r.history.lost = true
	return fmt.Errorf("%w: %s, after %s", errBroken, now, r.reached)
}

// newest returns the version of the collection, at the cost of a list where the source
// ignores the limit.
func (r *Reflector) newest(ctx context.Context) (string, error) {
	options := r.listOptions("", false)
	brief, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	version, err := r.peek(brief, options)
	if err != nil || version != "" {
		return version, err
	}
	list, err := r.walkBeside(ctx, options, func(runtime.Object) error { return nil })
	return list.ResourceVersion, err
}

// compare stages one object of this part. One that cannot be applied was reported when it came.
func (r *Reflector) compare(staging staging, obj runtime.Object) error {
	if r.elsewhere(obj) {
		return nil
	}
	err := staging.put(obj)
	var poison *ObjectError
	switch {
	case errors.Is(err, ErrWrongType):
		return nil
	case errors.As(err, &poison):
		if m, ok := obj.(metav1.Object); ok && m.GetName() != "" {
			staging.keep(m)
			return nil
		}
	}
	return err
}

// walkBeside goes through the pages of a list beside an open stream, which is not read
// meanwhile: a source that goes silent must not keep it so.
func (r *Reflector) walkBeside(ctx context.Context, options metav1.ListOptions, item func(obj runtime.Object) error) (metav1.ListMeta, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	late := time.AfterFunc(listTimeout, func() { end(errNoAnswer) })
	defer late.Stop()
	items := 0
	counted := func(obj runtime.Object) error {
		if items++; items%defaultProgress == 0 {
			late.Reset(listTimeout)
		}
		return item(obj)
	}
	paging := pager.Options{PageSize: r.options.PageSize, OnAbandon: r.report.abandoned}
	if source, ok := r.source.(StreamLister); ok {
		list, err := pager.Walk(ctx, options, func(ctx context.Context, options metav1.ListOptions) (metav1.ListMeta, error) {
			return source.ListStream(ctx, options, nil, counted)
		}, paging)
		return list, noAnswer(ctx, err)
	}
	fetch := (&listing{r: r, ctx: ctx}).fetch
	list, err := pager.New(fetch, paging).EachPage(ctx, options, func(page runtime.Object) error {
		return eachItem(page, counted)
	})
	return list, noAnswer(ctx, err)
}

// verified tells what a verify came to. Each object is told to the hook, and the log has
// one line for all of them.
func (r *reporter) verified(ctx context.Context, repaired []*ObjectError, err error) {
	r.each(func(t *Trace) {
		if t.Verify != nil {
			t.Verify(r.name, len(repaired), err)
		}
	})
	switch {
	case err != nil:
		klog.FromContext(ctx).V(2).Info("Mirror was not verified this time", "source", r.name, "err", err)
	case len(repaired) > 0:
		klog.FromContext(ctx).Error(ErrRepaired, "Mirror was repaired", "source", r.name, "objects", len(repaired), "first", repaired[0].Key)
	}
	for _, object := range repaired {
		if object.Source = r.name; r.onError != nil {
			r.onError(ctx, object)
		}
	}
}

// verifier is a Sink that can be brought to rest, and marks what a verify changes.
type verifier[T any] interface {
	beginVerify(ctx context.Context) (Replacement[T], error)
}

func (t *typedTarget[T]) beginVerify(ctx context.Context) (staging, error) {
	begin := t.sink.BeginReplace
	if sink, ok := t.sink.(verifier[T]); ok {
		begin = sink.beginVerify
	}
	replacement, err := begin(ctx)
	if err != nil {
		return nil, &sinkError{err}
	}
	s := &typedStaging[T]{target: t, replacement: replacement}
	if repairs, ok := replacement.(repairer); ok {
		repairs.watchRepairs()
	} else {
		s.differs = t.identify // the versions and UIDs are all that such a sink tells
	}
	return s, nil
}

func (s *typedStaging[T]) repaired() []*ObjectError {
	if repairs, ok := s.replacement.(repairer); ok {
		return repairs.repairs()
	}
	return s.found
}

// look notes an object that the sink holds at another version, or not at all.
func (s *typedStaging[T]) look(obj T) {
	if s.differs == nil {
		return
	}
	if version, uid, ok := s.differs(obj); !ok || version != obj.GetResourceVersion() || uid != obj.GetUID() {
		s.found = append(s.found, objectError(obj, ErrRepaired))
	}
}

// beginVerify waits until everything queued is in the store.
func (f *DeltaFIFO[T]) beginVerify(ctx context.Context) (Replacement[T], error) {
	r, err := f.beginRepair(ctx)
	if err != nil {
		return nil, err // not a nil pointer in an interface that is not nil
	}
	return r, nil
}

func (f *DeltaFIFO[T]) beginRepair(ctx context.Context) (*fifoReplacement[T], error) {
	waiting, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := f.drained(waiting); err != nil {
		return nil, fmt.Errorf("queue is not empty: %w", err)
	}
	return f.beginReplace(ctx, CauseVerify)
}

// drained waits until nothing is queued, and nothing is on its way to the store.
func (f *DeltaFIFO[T]) drained(ctx context.Context) error {
	f.mu.Lock()
	if f.restedLocked() {
		f.mu.Unlock()
		return nil
	}
	if f.rest == nil {
		f.rest = make(chan struct{})
	}
	rest := f.rest
	f.mu.Unlock()
	select {
	case <-rest:
		return nil
	case <-f.closed:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// restLocked wakes who waits for rest.
func (f *DeltaFIFO[T]) restLocked() {
	if f.rest != nil && f.restedLocked() {
		close(f.rest)
		f.rest = nil
	}
}

func (f *DeltaFIFO[T]) restedLocked() bool {
	return f.whole == nil && f.wholeTaken == nil && f.queue.len() == 0 && len(f.flights) == 0 && (f.taken == nil || f.taken.len() == 0)
}

func (r *fifoReplacement[T]) watchRepairs() {}

func (r *fifoReplacement[T]) repairs() []*ObjectError { return r.repaired }

func (r *storeReplacement[T]) watchRepairs()           { r.watched = true }
func (r *storeReplacement[T]) repairs() []*ObjectError { return r.repaired }
