// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"
)

var (
	modelSeed  = flag.Uint64("model.seed", 0, "replay the program of this seed; 0: random ones")
	modelSteps = flag.Int("model.steps", 10_000, "steps of all random programs together")
)

// Programs of the model.
const (
	modelLength  = 100 // steps a program
	modelKeys    = 6
	modelSources = 3
	modelMarker  = "s3cr3t" // content, which must not get out
)

// modelOp is a step of a program: what, on which source, with which argument.
type modelOp struct {
	name   string
	source int
	arg    int
}

func (o modelOp) String() string { return fmt.Sprintf("%s(%d, %d)", o.name, o.source, o.arg) }

// modelOps are the steps, and how often each is drawn.
var modelOps = []struct {
	name   string
	weight int
	do     func(m *model, o modelOp)
}{
	{"create", 12, (*model).create},
	{"update", 12, (*model).update},
	{"poison", 2, (*model).poison},
	{"delete", 8, (*model).delete},
	{"recreate", 3, (*model).recreate},
	{"fail", 4, func(m *model, o modelOp) { m.sources[o.source].FailNext(1+o.arg%5, forbidden()) }},
	{"away", 2, func(m *model, o modelOp) {
		m.sources[o.source].FailWhile(func(informertest.Request) bool { return true }, errors.New("away"))
		m.sources[o.source].CutStreams()
	}},
	{"recover", 3, func(m *model, o modelOp) { m.sources[o.source].Recover() }},
	{"cut", 4, func(m *model, o modelOp) { m.sources[o.source].CutStreams() }},
	{"compact", 3, func(m *model, o modelOp) { m.sources[o.source].Compact() }},
	{"quirks", 3, (*model).quirks},
	{"handler", 4, (*model).addHandler},
	{"remove", 2, (*model).removeHandler},
	{"refilter", 2, (*model).refilter},
	{"shard", 2, (*model).shard},
	{"addSource", 3, (*model).addSource},
	{"removeSource", 2, (*model).removeSource},
	{"wait", 4, (*model).wait},
	{"sleep", 8, func(_ *model, o modelOp) { time.Sleep(time.Duration(o.arg%97) * time.Second) }},
}

// modelProgram draws a program.
func modelProgram(seed uint64, length int) []modelOp {
	random := rand.New(rand.NewPCG(seed, 0))
	var names []string
	for _, o := range modelOps {
		for range o.weight {
			names = append(names, o.name)
		}
	}
	program := make([]modelOp, 0, length)
	for range length {
		program = append(program, modelOp{names[random.IntN(len(names))], random.IntN(modelSources), random.IntN(1 << 16)})
	}
	return program
}

// TestModel runs random programs of what happens to servers, on the way to them, and what
// clients do, and compares after each step, and when everything has come to rest, with
// what the promises P1 to P9 allow.
func TestModel(t *testing.T) {
	seeds := []uint64{*modelSeed}
	if *modelSeed == 0 {
		seeds = nil
		for range max(1, *modelSteps/modelLength) {
			seeds = append(seeds, rand.Uint64N(1<<40)+1)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			program := modelProgram(seed, modelLength)
			failure := modelRun(t, program)
			if failure == "" {
				return
			}
			program, failure = modelShrink(t, program, failure)
			t.Errorf("%s\nafter %v\nreplay with -model.seed=%d", failure, program, seed)
		})
	}
}

// modelShrink leaves out of a program that fails what it fails without.
func modelShrink(t *testing.T, program []modelOp, failure string) ([]modelOp, string) {
	for size := len(program) / 2; size > 0; {
		shorter := false
		for from := 0; from+size <= len(program); {
			without := slices.Concat(program[:from], program[from+size:])
			if f := modelRun(t, without); f != "" {
				program, failure, shorter = without, f, true
			} else {
				from += size
			}
		}
		if !shorter {
			size /= 2
		}
	}
	return program, failure
}

// modelRun runs a program and returns what went wrong first; "": nothing.
func modelRun(t *testing.T, program []modelOp) (failure string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := newModel(ctx, t)
		done := make(chan error, 1)
		go func() { done <- m.union.Run(ctx) }()
		for _, o := range program {
			for _, op := range modelOps {
				if op.name == o.name {
					op.do(m, o)
				}
			}
			synctest.Wait()
			m.checkStep()
			if m.failure != "" {
				break
			}
		}
		m.rest()
		m.checkRest()
		cancel()
		if err := <-done; err != nil { // P9: and whatever it leaves behind fails the bubble
			m.fail("P9: Run: %v", err)
		}
		synctest.Wait()
		m.checkStopped()
		failure = m.failure
	})
	return failure
}

// model is the world of a program.
type model struct {
	t        *testing.T
	ctx      context.Context
	union    *informer.Informer[infObject]
	sources  []*informertest.Collection[infObject]
	active   [modelSources]bool
	parted   int // index of the shard of two; -1: the whole
	handlers []*modelHandler
	waits    int // under way
	began    time.Time
	errors   infErrors
	failure  string
}

func newModel(ctx context.Context, t *testing.T) *model {
	m := &model{t: t, ctx: ctx, parted: -1, began: time.Now()}
	options := informer.Options[infObject]{MutationGuard: 2, Transform: modelTransform}
	options.Name, options.OnError, options.Quarantine = "model", m.errors.add, true
	m.union = informer.NewUnion(options)
	for n := range modelSources {
		m.sources = append(m.sources, informertest.NewCollection[infObject](t))
		if n < 2 {
			m.addSource(modelOp{source: n})
		}
	}
	m.addHandler(modelOp{})
	return m
}

var errPoison = errors.New("poison")

func modelTransform(obj infObject) (infObject, error) {
	if obj.Labels["poison"] != "" {
		return nil, errPoison
	}
	return obj, nil
}

func (m *model) fail(format string, args ...any) {
	if m.failure == "" {
		m.failure = fmt.Sprintf(format, args...)
	}
}

// key is one that sources may have in common.
func (o modelOp) key() string { return fmt.Sprint("k", o.arg%modelKeys) }

func modelObject(key string, arg int, poison bool) infObject {
	obj := infObj(key)
	obj.Labels = map[string]string{"content": fmt.Sprint(modelMarker, arg)}
	if poison {
		obj.Labels["poison"] = modelMarker
	}
	return obj
}

// Errors of writes are those of objects that are there, or are not.

func (m *model) create(o modelOp) {
	_, _ = m.sources[o.source].Create(m.ctx, modelObject(o.key(), o.arg, false))
}

func (m *model) update(o modelOp) {
	_, _ = m.sources[o.source].Update(m.ctx, modelObject(o.key(), o.arg, false))
}

func (m *model) poison(o modelOp) {
	_, _ = m.sources[o.source].Update(m.ctx, modelObject(o.key(), o.arg, true))
}

func (m *model) delete(o modelOp) { _ = m.sources[o.source].Delete(m.ctx, "", o.key()) }

func (m *model) recreate(o modelOp) {
	m.delete(o)
	m.create(o)
}

func (m *model) quirks(o modelOp) {
	quirks := []informertest.Quirks{
		{}, {Latency: 3 * time.Second}, {RefuseWatchList: true}, {NoBookmarks: true}, {NoMarker: true},
		{IgnoreWatchList: true}, {NoPaging: true}, {NoWatchCache: true}, {History: -1},
	}
	m.sources[o.source].SetQuirks(quirks[o.arg%len(quirks)])
}

func (m *model) shard(o modelOp) {
	shard := informer.Shard{}
	if m.parted = o.arg%3 - 1; m.parted >= 0 {
		shard = informer.Shard{Index: m.parted, Count: 2}
	}
	if err := m.union.SetShard(shard); err != nil {
		m.fail("SetShard: %v", err)
	}
}

func (m *model) addSource(o modelOp) {
	err := m.union.AddSource(informer.Source{Name: fmt.Sprint("s", o.source), ListerWatcher: m.sources[o.source]})
	if m.active[o.source] != errors.Is(err, informer.ErrExists) || !m.active[o.source] && err != nil {
		m.fail("AddSource: %v, it was there: %v", err, m.active[o.source])
	}
	m.active[o.source] = true
}

func (m *model) removeSource(o modelOp) {
	if err := m.union.RemoveSource(fmt.Sprint("s", o.source)); (err == nil) != m.active[o.source] {
		m.fail("RemoveSource: %v, it was there: %v", err, m.active[o.source])
	}
	m.active[o.source] = false
}

// wait waits for the version that a source has now. P6: it ends, and says why.
func (m *model) wait(o modelOp) {
	if !m.active[o.source] {
		return
	}
	ctx, cancel := context.WithTimeout(m.ctx, time.Duration(1+o.arg%100)*time.Second)
	version := m.sources[o.source].ResourceVersion()
	began := time.Now()
	m.waits++
	go func() {
		defer cancel()
		err := m.union.WaitForResourceVersion(ctx, version, fmt.Sprint("s", o.source))
		m.errors.mu.Lock()
		defer m.errors.mu.Unlock()
		m.waits--
		var w *informer.WaitError
		if err != nil && (!errors.As(err, &w) || len(w.Late) != 1 && !errors.Is(err, informer.ErrStopped)) {
			m.failure = fmt.Sprintf("P6: wait: %v", err)
		}
		if took := time.Since(began); took > 101*time.Second {
			m.failure = fmt.Sprintf("P6: the wait took %v", took)
		}
	}()
}

// rest lets everything come to rest.
func (m *model) rest() {
	for _, s := range m.sources {
		s.Recover()
		s.SetQuirks(informertest.Quirks{})
	}
	for _, h := range m.handlers {
		h.unblock()
	}
	time.Sleep(30 * time.Minute) // longer than every pause, and than a silent watch lives
	synctest.Wait()
	for _, h := range m.handlers {
		h.registration.Refilter()
	}
	synctest.Wait()
}

// checkStep checks what holds at any time.
func (m *model) checkStep() {
	status := m.union.Status()
	for _, h := range status.Handlers {
		if strings.HasPrefix(h.Name, "merging") && h.Queued > 3*modelKeys { // Deleted, Added, and a sweep
			m.fail("P7: %d changes queued for %d keys", h.Queued, modelKeys)
		}
	}
	elapsed := int(time.Since(m.began) / time.Second)
	for n, s := range m.sources {
		// Watches, checks of the version and lists: each at most one a second, and a few
		// for each thing that a step did.
		if asked := len(s.Requests()); asked > 10*modelLength+3*elapsed {
			m.fail("P8: %d requests to source %d in %d s", asked, n, elapsed)
		}
	}
	m.errors.mu.Lock()
	defer m.errors.mu.Unlock()
	for _, err := range m.errors.all {
		if strings.Contains(err.Error(), modelMarker) {
			m.fail("P10: %v", err)
		}
		if mutation := (*informer.MutationError)(nil); errors.As(err, &mutation) {
			m.fail("a mutation where there is none: %v", err)
		}
	}
	for _, h := range m.handlers {
		if h.failed() != "" {
			m.fail("%s", h.failed())
		}
	}
}
