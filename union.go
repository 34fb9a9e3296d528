// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/informerkit/informer/internal/carry"

	"k8s.io/klog/v2"
)

// Source is one of the sources of a union.
type Source struct {
	Name          string        // unique in the union; Change.Source, and behind the informer's name in errors
	ListerWatcher ListerWatcher // required
	KeyPrefix     string        // before each of its keys, e.g. "east/"; "": none
	Shard         Shard         // the part of the collection to mirror; zero: that of the Options
	Optional      bool          // the union syncs without it once it has failed, and Status names it
}

// What AddSource, RemoveSource and SetShard refuse.
var (
	errNotUnion   = errors.New("informer: not a union: New has given it its one source")
	errNilSource  = errors.New("informer: AddSource: nil ListerWatcher")
	errSourceName = errors.New("informer: AddSource: a source needs a name")
)

// member is a source in its informer.
type member[T Object] struct {
	name      string
	prefix    string
	optional  bool
	shardOwn  bool // its shard is not that of the options
	reflector *Reflector
	feed      *feed[T] // nil: it is the only source, and feeds the queue itself

	// Guarded by Informer.mu.
	cancel   context.CancelFunc // nil: it was not started
	listed   bool               // its first list is in the store
	failed   bool               // at least once
	removed  bool
	version  string // of a union: that the store has reached
	broke    bool   // its history broke with the batch at hand
	breaking bool   // the list of a restored source is on its way
}

// NewUnion returns an informer whose sources come and go: the namespaces of a program that
// may list no more than these, clusters, or collections of different types in one store.
// Each source is listed and watched on its own, with its own version, status and backoff;
// the store, the sync and the handlers are common.
//
// It syncs when all sources that are not Optional have been listed; without any, at once.
// Sources that are added afterwards leave it synced.
//
// A key belongs to the source that had it first. What another source sends under the same
// key is reported once, to OnError and the log, kept aside, listed in Status.Collisions, and
// takes the key when the first one has let go of it. KeyPrefix tells the keys of sources apart.
//
// It panics as New does, and if Options.Store holds objects, which are of no source.
func NewUnion[T Object](options Options[T]) *Informer[T] {
	i := newInformer(options, "NewUnion")
	if i.store.Len() > 0 {
		panic("informer: NewUnion: Options.Store holds objects already, and of no source")
	}
	i.union, i.name = true, options.Name
	if i.name == "" {
		i.name = newTarget[T](i.queue, options.Example).name()
	}
	return i
}

// AddSource adds a source, also while running. It returns at once; what the source has
// comes to the handlers with CauseInitial and its name.
//
// Errors: ErrExists if the name is taken; ErrStopped once Run has returned; an informer
// that is not a union; an empty name, a nil ListerWatcher, and a Shard that is none.
func (i *Informer[T]) AddSource(source Source) error {
	if err := i.checkSource(source); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.phase == informerStopped || i.ending:
		return ErrStopped
	case i.memberLocked(source.Name) != nil:
		return fmt.Errorf("source %q of %s: %w", source.Name, i.name, ErrExists)
	}
	m := i.newMember(source)
	i.members = append(slices.Clip(i.members), m)
	if i.phase == informerRunning {
		i.startLocked(m)
	}
	return nil
}

func (i *Informer[T]) checkSource(source Source) error {
	lw := reflect.ValueOf(source.ListerWatcher)
	switch {
	case !i.union:
		return errNotUnion
	case source.Name == "":
		return errSourceName
	case !lw.IsValid() || lw.Kind() == reflect.Pointer && lw.IsNil():
		return errNilSource
	}
	return source.Shard.check()
}

func (i *Informer[T]) memberLocked(name string) *member[T] {
	for _, m := range i.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

func (i *Informer[T]) newMember(source Source) *member[T] {
	m := &member[T]{
		name: source.Name, prefix: source.KeyPrefix, optional: source.Optional,
		shardOwn: source.Shard != Shard{},
		feed:     i.queue.newFeed(source.Name, source.KeyPrefix),
	}
	options := i.feedOptions()
	options.Name = i.name + "/" + source.Name
	if m.shardOwn {
		options.Shard = source.Shard
	}
	m.reflector = NewReflector[T](source.ListerWatcher, m.feed, options)
	m.reflector.broke = func() { i.historyBroke(m) }
	m.reflector.report.watched(i.bell.ring, func() { i.sourceFailed(m) })
	m.feed.collided = func(ctx context.Context, all []collision) { i.reportCollisions(ctx, m, all) }
	return m
}

// RemoveSource removes a source, also while running. Its objects leave with what is
// queued, as Deleted with CauseScope: they left this mirror, not the server. It returns at
// once, and may be called by a handler. The name is free again.
//
// Errors: a name that there is not, with those that there are; ErrStopped once Run has
// returned; an informer that is not a union.
func (i *Informer[T]) RemoveSource(name string) error {
	if !i.union {
		return errNotUnion
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	m := i.memberLocked(name)
	switch {
	case i.phase == informerStopped || i.ending:
		return ErrStopped
	case m == nil:
		return i.unknownSourceLocked(name)
	}
	i.members = slices.DeleteFunc(slices.Clone(i.members), func(other *member[T]) bool { return other == m })
	m.removed = true
	if m.cancel != nil {
		m.cancel()
	}
	m.feed.close()
	i.concludeLocked()
	i.endVersionsLocked(m)
	i.bell.ring() // who waits looks at other sources from now on
	return nil
}

func (i *Informer[T]) unknownSourceLocked(name string) error {
	var known []string
	for _, m := range i.members {
		known = append(known, m.name)
	}
	return fmt.Errorf("informer: %s has no source %q, there are %q", i.name, name, known)
}

// SetShard changes the part of the collection to mirror, of a union in all sources that
// have no Shard of their own. It returns at once: each source stops its watch where it is
// and lists the new part not older than that, so there is no gap. What is in both parts
// says nothing, what left comes as Deleted and what came as Added, with CauseScope. A
// source that waits because of a failure lists the new part when that wait is over, so that
// no caller can hammer a server in trouble: after twice the Max of the Backoff at most, or 5
// minutes where the server or an object has asked for them.
//
// Errors: a Shard that is none; ErrStopped once Run has returned.
func (i *Informer[T]) SetShard(shard Shard) error {
	if err := shard.check(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.phase == informerStopped {
		return ErrStopped
	}
	i.options.Shard = shard // of sources to come
	for _, m := range i.members {
		if !m.shardOwn {
			m.reflector.setShard(shard)
		}
	}
	return nil
}

// runSources runs them until ctx ends, or one of them ends the rest.
func (i *Informer[T]) runSources(ctx context.Context, cancel context.CancelFunc) error {
	if !i.union {
		return i.members[0].reflector.Run(ctx)
	}
	var end groupEnd
	select {
	case <-ctx.Done():
	case end = <-i.ended:
	}
	cancel()
	i.mu.Lock()
	i.ending = true
	i.mu.Unlock()
	i.running.Wait()
	if end == (groupEnd{}) {
		select {
		case end = <-i.ended:
		default:
		}
	}
	end.left.GoOn()
	return end.err
}

// startLocked runs a source of a union.
func (i *Informer[T]) startLocked(m *member[T]) {
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(i.ctx)
	i.running.Go(func() {
		defer m.cancel()
		var end groupEnd
		defer end.tell(i.ended)
		carry.Catch(func() { end.err = m.reflector.Run(ctx) }, end.leave)
		if errors.Is(end.err, ErrClosed) { // it was removed, or Run is ending
			end.err = nil
		}
	})
}

// progressLocked notes how far the sources have come with a batch.
func (i *Informer[T]) progressLocked(b batch[T], before string) {
	if !i.union {
		m := i.members[0]
		m.listed = m.listed || b.synced
		m.broke = m.breaking || b.version != "" && len(i.versions) > 0 && wentBack(before, i.store.ResourceVersion())
		m.breaking = false
		return
	}
	for _, p := range b.progress {
		m := i.memberLocked(p.feed.name)
		if m == nil || m.feed != p.feed {
			continue // removed since
		}
		m.listed = m.listed || p.listed
		m.broke = m.breaking || wentBack(m.version, p.version)
		m.breaking = false
		m.version = p.version
	}
}

// concludeLocked finds out whether all lists are in the store. Between a batch and what it
// has to tell, it is left to settle.
func (i *Informer[T]) concludeLocked() {
	if i.applying || i.phase != informerRunning || i.listed.HasSynced() || len(i.unlistedLocked()) > 0 {
		return
	}
	i.store.listStored()
	i.listed.signal()
	for _, d := range i.handlers {
		i.markLocked(d)
	}
	i.syncLocked()
}

// unlistedLocked returns the sources that the sync waits for.
func (i *Informer[T]) unlistedLocked() []*member[T] {
	var late []*member[T]
	for _, m := range i.members {
		if !m.listed && !(m.optional && m.failed) {
			late = append(late, m)
		}
	}
	return late
}

// sourceFailed is called after each failure of a source of a union.
func (i *Informer[T]) sourceFailed(m *member[T]) {
	if !m.optional {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	m.failed = true
	i.concludeLocked()
}

// reportCollisions tells of keys that a source sends and another one holds.
func (i *Informer[T]) reportCollisions(ctx context.Context, m *member[T], all []collision) {
	for _, c := range all {
		klog.FromContext(ctx).Error(errCollision, "Object is kept aside", "informer", i.name,
			"source", m.name, "owner", c.owner, "key", c.key, "uid", c.uid, "resourceVersion", c.version)
		i.reportError(ctx, &ObjectError{
			Source: m.reflector.options.Name, Key: strings.TrimPrefix(c.key, m.prefix), UID: c.uid, ResourceVersion: c.version,
			Err: c.error(),
		})
	}
}

func (c *collision) error() error { return fmt.Errorf("%w: %s", errCollision, c.owner) }

// collisionsOf returns what sources keep aside, sorted by key.
func collisionsOf[T Object](members []*member[T]) []Quarantined {
	var all []Quarantined
	for _, m := range members {
		if m.feed == nil {
			continue
		}
		for _, c := range m.feed.waiting() {
			all = append(all, Quarantined{Source: m.name, Key: c.key, UID: c.uid, ResourceVersion: c.version, Error: c.error().Error()})
		}
	}
	slices.SortStableFunc(all, func(a, b Quarantined) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Source, b.Source))
	})
	return all
}

func (m *member[T]) status() SourceStatus {
	s := m.reflector.Status()
	if m.feed != nil {
		s.Name, s.Optional = m.name, m.optional
	}
	return s
}

// quarantined returns what all sources have set aside, sorted by key.
func (i *Informer[T]) quarantined() []Quarantined {
	i.mu.Lock()
	members := i.members
	i.mu.Unlock()
	if !i.union {
		return members[0].reflector.quarantined()
	}
	var all []Quarantined
	for _, m := range members {
		for _, q := range m.reflector.quarantined() {
			q.Source, q.Key = m.name, m.prefix+q.Key
			all = append(all, q)
		}
	}
	slices.SortStableFunc(all, func(a, b Quarantined) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// lastFailure returns the last failures of the sources, nil if there is none; changed is
// closed when that changes, or an object is set aside.
func (i *Informer[T]) lastFailure() (changed <-chan struct{}, err error) {
	changed = i.bell.next()
	i.mu.Lock()
	members := i.members
	i.mu.Unlock()
	if !i.union {
		return members[0].reflector.lastFailure()
	}
	var failures []error
	for _, m := range members {
		if _, err := m.reflector.lastFailure(); err != nil {
			failures = append(failures, err)
		}
	}
	if len(failures) == 1 {
		return changed, failures[0]
	}
	return changed, errors.Join(failures...)
}

// differs names the first option in which another informer differs; "": none that can be
// compared.
func (i *Informer[T]) differs(other *Informer[T]) string {
	a, b := i.comparable(), other.comparable()
	for n := range a {
		if !reflect.DeepEqual(a[n].value, b[n].value) {
			return a[n].name
		}
	}
	return ""
}

// comparableOption is an option, or as much of it as can be compared.
type comparableOption struct {
	name  string
	value any
}

func (i *Informer[T]) comparable() []comparableOption {
	i.mu.Lock()
	defer i.mu.Unlock()
	o := i.options
	var indexes []string
	for name := range o.Indexers {
		indexes = append(indexes, name)
	}
	slices.Sort(indexes)
	source := "union"
	if !i.union {
		source = fmt.Sprintf("%T", i.members[0].reflector.source)
	}
	return []comparableOption{
		{"source", source}, {"LabelSelector", o.LabelSelector}, {"FieldSelector", o.FieldSelector},
		{"Shard", o.Shard}, {"Example", fmt.Sprintf("%T", o.Example)}, {"NotOlderThan", o.NotOlderThan},
		{"MostRecent", o.MostRecent}, {"PageSize", o.PageSize}, {"WatchTimeout", o.WatchTimeout},
		{"InitialEventsTimeout", o.InitialEventsTimeout}, {"Resync", o.Resync}, {"Quarantine", o.Quarantine},
		{"KeyFunc", o.KeyFunc == nil}, {"Transform", o.Transform == nil}, {"Indexers", indexes},
		{"Store", fmt.Sprintf("%p", o.Store)}, {"MutationGuard", o.MutationGuard},
	}
}

// bell is a broadcast: who waits takes the channel that is closed at the next ring.
type bell struct {
	mu sync.Mutex
	ch chan struct{} // nil: nobody waits
}

func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
