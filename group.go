// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/informerkit/informer/internal/carry"
)

// Member is what a Group runs: an Informer of any type.
type Member interface {
	// Name is unique in the group.
	Name() string
	// Run is called once, and returns when its ctx ends, with nil or the error of ctx.
	Run(ctx context.Context) error
	// WaitForSync waits until the member has synced.
	WaitForSync(ctx context.Context) error
	// Status says what the member is doing.
	Status() Status
}

// Group runs informers of different types together: one Run, one wait, one status, and
// the logger of the one ctx. The order in which they were added means nothing. The zero
// Group is empty and ready to use; it must not be copied.
//
// Concurrency: all methods may be called from anywhere, in any order.
//
// Lifetime: one Run.
type Group struct {
	mu      sync.Mutex
	phase   informerPhase
	ctx     context.Context // of Run
	running sync.WaitGroup
	members []*groupMember
	ended   chan groupEnd // has room for one
}

// groupMember is a Member in its group.
type groupMember struct {
	Member
	cancel context.CancelFunc // nil before it runs
	done   chan struct{}      // closed when its Run has returned
	gone   chan struct{}      // closed when it is removed
}

// groupEnd is why a group ends before its ctx does.
type groupEnd struct {
	err  error
	left *carry.Left
}

// Add adds informers, all or none, also while the group runs; it runs them.
//
// Errors: ErrExists if a name is taken; ErrStopped once Run has returned; a nil member.
func (g *Group) Add(members ...Member) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.addLocked(members)
}

func (g *Group) addLocked(members []Member) error {
	if g.phase == informerStopped {
		return fmt.Errorf("group: %w", ErrStopped)
	}
	names := map[string]bool{}
	for _, m := range members {
		if v := reflect.ValueOf(m); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return errNilMember
		}
		if g.findLocked(m.Name()) != nil || names[m.Name()] {
			return fmt.Errorf("group: member %q: %w", m.Name(), ErrExists)
		}
		names[m.Name()] = true
	}
	for _, m := range members {
		added := &groupMember{Member: m, done: make(chan struct{}), gone: make(chan struct{})}
		g.members = append(g.members, added)
		if g.phase == informerRunning {
			g.startLocked(added)
		}
	}
	return nil
}

var errNilMember = errors.New("informer: Group: nil member")

func (g *Group) findLocked(name string) *groupMember {
	for _, m := range g.members {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// Remove stops one member, removes it, and returns once its Run has. Its name is free at
// once, and a wait for the group no longer waits for it.
//
// Errors: an unknown name; a *WaitError of ctx, with the member removed all the same, or
// of ErrInHandler if ctx is that of a handler of this very member.
func (g *Group) Remove(ctx context.Context, name string) error {
	g.mu.Lock()
	m := g.findLocked(name)
	if m == nil {
		known := g.namesLocked()
		g.mu.Unlock()
		return fmt.Errorf("informer: Group: no member %q, there are %q", name, known)
	}
	g.members = slices.DeleteFunc(slices.Clone(g.members), func(other *groupMember) bool { return other == m })
	close(m.gone)
	started := m.cancel != nil
	if started {
		m.cancel()
	}
	g.mu.Unlock()
	if !started {
		return nil
	}
	wait := &WaitError{Name: name, For: "end", Late: []string{name}}
	if r := RegistrationFromContext(ctx); r != nil && r.place.owner() == any(m.Member) {
		wait.Cause = ErrInHandler
		return wait
	}
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		wait.Cause = context.Cause(ctx)
		return wait
	}
}

func (g *Group) namesLocked() []string {
	var names []string
	for _, m := range g.members {
		names = append(names, m.Name())
	}
	slices.Sort(names)
	return names
}

// Run runs all members until ctx ends, and then returns nil, or until one of them returns
// an error, and then returns that with the member's name. It returns after all of them. A
// member that returns nil before, as one that is removed does, ends alone.
//
// A panic of a source's List or Watch passes through, once the others have ended, and so does
// runtime.Goexit.
//
// Errors: ErrStarted if it was called before; that of a member.
func (g *Group) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !g.start(ctx) {
		return ErrStarted
	}
	var end groupEnd
	select {
	case <-ctx.Done():
	case end = <-g.ended:
	}
	cancel()
	g.mu.Lock()
	g.phase = informerStopped // nobody is added any more
	g.mu.Unlock()
	g.running.Wait()
	if end == (groupEnd{}) { // what ended together with ctx
		select {
		case end = <-g.ended:
		default:
		}
	}
	end.left.GoOn()
	return end.err
}

func (g *Group) start(ctx context.Context) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != informerIdle {
		return false
	}
	g.phase, g.ctx, g.ended = informerRunning, ctx, make(chan groupEnd, 1)
	for _, m := range g.members {
		g.startLocked(m)
	}
	return true
}

func (g *Group) startLocked(m *groupMember) {
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(g.ctx)
	g.running.Go(func() {
		defer close(m.done)
		defer m.cancel()
		var end groupEnd
		defer end.tell(g.ended)
		carry.Catch(func() {
			err := m.Run(ctx)
			if err != nil && !endsWith(ctx, err) {
				end.err = fmt.Errorf("%s: %w", m.Name(), err)
			}
		}, end.leave)
	})
}

// endsWith reports whether an error of a Run says no more than that its ctx has ended. A
// failure that is joined with that counts.
func endsWith(ctx context.Context, err error) bool {
	if ctx.Err() == nil || err == nil {
		return false
	}
	if errors.Is(ctx.Err(), err) || errors.Is(context.Cause(ctx), err) {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return endsWith(ctx, e.Unwrap())
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !endsWith(ctx, err) })
	}
	return false
}

// leave notes how a member was left, if it did not return.
func (e *groupEnd) leave(left *carry.Left) { e.left = left }

// tell is deferred.
func (e *groupEnd) tell(ended chan<- groupEnd) {
	if *e == (groupEnd{}) {
		return
	}
	select {
	case ended <- *e:
	default: // the first one counts
	}
}

// WaitForSync waits for all members that there are as it is called; one that is removed
// meanwhile is waited for no more.
//
// Errors: those of the members that are late, joined, each a *WaitError.
func (g *Group) WaitForSync(ctx context.Context) error {
	g.mu.Lock()
	members := slices.Clone(g.members)
	g.mu.Unlock()
	var late []error
	for _, m := range members { // one after the other: none that is waited for waits itself
		if err := m.waitForSync(ctx); err != nil {
			late = append(late, err)
		}
	}
	return errors.Join(late...)
}

// waitForSync waits until the member has synced or is removed, also if it never ran.
func (m *groupMember) waitForSync(ctx context.Context) error {
	waiting, cancel := context.WithCancelCause(ctx)
	synced := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-m.gone:
			cancel(nil)
		case <-synced:
		}
	})
	err := m.WaitForSync(waiting)
	close(synced)
	watching.Wait()
	cancel(nil)
	select {
	case <-m.gone:
		return nil
	default:
		return err
	}
}

// Status returns that of each member, sorted by name.
func (g *Group) Status() []Status {
	g.mu.Lock()
	members := slices.Clone(g.members)
	g.mu.Unlock()
	statuses := make([]Status, 0, len(members))
	for _, m := range members {
		statuses = append(statuses, m.Status())
	}
	slices.SortFunc(statuses, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return statuses
}

// Shared returns the informer of the candidate's type and name that the group has, or adds
// the candidate and returns that. So two controllers of one process can share a mirror,
// whoever comes first.
//
// What can be compared of the options has to agree: selectors, shard, periods, names of
// the indexes, the type of the source, and whether there is a KeyFunc or a Transform.
//
// Errors: options that differ, naming the first; ErrExists if the name belongs to a member
// of another type; ErrStopped once Group.Run has returned; otherwise those of Group.Add.
func Shared[T Object](group *Group, candidate *Informer[T]) (*Informer[T], error) {
	if group == nil || candidate == nil {
		return nil, errors.New("informer: Shared: nil group or candidate")
	}
	group.mu.Lock()
	defer group.mu.Unlock()
	if group.phase == informerStopped {
		return nil, fmt.Errorf("informer: Shared: %w", ErrStopped)
	}
	name := candidate.Name()
	m := group.findLocked(name)
	if m == nil {
		return candidate, group.addLocked([]Member{candidate})
	}
	shared, ok := m.Member.(*Informer[T])
	if !ok {
		return nil, fmt.Errorf("informer: Shared: %q is a %T: %w", name, m.Member, ErrExists)
	}
	if shared == candidate {
		return shared, nil
	}
	if difference := shared.differs(candidate); difference != "" {
		return nil, fmt.Errorf("informer: Shared: %q is there with another %s", name, difference)
	}
	return shared, nil
}
