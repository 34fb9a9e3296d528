// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// infErrors keeps what OnError is told.
type infErrors struct {
	mu  sync.Mutex
	all []error
}

func (e *infErrors) add(_ context.Context, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, err)
}

// of returns the texts of those that hold a word.
func (e *infErrors) of(word string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var texts []string
	for _, err := range e.all {
		if strings.Contains(err.Error(), word) {
			texts = append(texts, err.Error())
		}
	}
	return texts
}

// infUnion is a union that runs, with a recorder.
type infUnion struct {
	*infRun
	errors *infErrors
	told   *infRecorder
}

// recordSources adds a recorder that writes down the sources too.
func (u *infUnion) recordSources() (*infRecorder, *informer.Registration) {
	h := &infRecorder{t: u.t, sources: true}
	registration, err := u.AddHandler(h, informer.HandlerOptions{})
	fifoMust(u.t, err)
	return h, registration
}

func unionTest(t *testing.T, test func(t *testing.T, u *infUnion), sources ...informer.Source) {
	synctest.Test(t, func(t *testing.T) {
		errs := &infErrors{}
		options := informer.Options[infObject]{}
		options.Name, options.OnError = "things", errs.add
		i := informer.NewUnion(options)
		for _, s := range sources {
			fifoMust(t, i.AddSource(s))
		}
		h, _ := infRecord(t, i, informer.HandlerOptions{})
		h.sources = true
		u := &infUnion{infRun: infStart(t, i), errors: errs, told: h}
		defer u.end()
		test(t, u)
		synctest.Wait()
		h.sameAs(i.Store())
	})
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
}

func TestUnion(t *testing.T) {
	east, west := infCollection("10", "a@5/e"), infCollection("900", "a@800/w")
	unionTest(t, func(t *testing.T, u *infUnion) {
		told := u.told.told()
		slices.Sort(told)
		if !slices.Equal(told, []string{"Initial +east/a@5 east", "Initial +west/a@800 west"}) {
			t.Errorf("told %q", told)
		}
		if !u.HasSynced() || !u.Store().HasSynced() {
			t.Error("not synced")
		}
		west.event("~a@901/w")
		synctest.Wait()
		east.event("-a@11/e")
		synctest.Wait()
		u.told.expect("Watch ~west/a@800:901 west", "Watch -east/a@11 east")
		east.relist("20", "b@15/b")
		u.told.expect("Relist +east/b@15 east")
		s := u.Status()
		if s.ResourceVersion != "" || len(s.Sources) != 2 || s.Sources[0].Name != "east" || s.Sources[0].ResourceVersion != "20" || s.Sources[1].ResourceVersion != "901" {
			t.Errorf("status %+v", s)
		}
		late, _ := u.recordSources()
		synctest.Wait()
		told = late.told()
		slices.Sort(told)
		if !slices.Equal(told, []string{"Initial +east/b@15 east", "Initial +west/a@901 west"}) {
			t.Errorf("a late handler was told %q", told)
		}
	}, informer.Source{Name: "east", ListerWatcher: east, KeyPrefix: "east/"},
		informer.Source{Name: "west", ListerWatcher: west, KeyPrefix: "west/"})
}

func TestUnionSync(t *testing.T) {
	good, bad := infCollection("1", "a@1/a"), infCollection("1", "b@1/b")
	bad.fail = forbidden()
	unionTest(t, func(t *testing.T, u *infUnion) {
		u.told.expect("Initial +a@1 good")
		good.event("+c@2/c") // not held up
		synctest.Wait()
		u.told.expect("Watch +c@2 good")
		err := infWait(t, u.WaitForSync)
		if !apierrors.IsForbidden(err) || !slices.Equal(err.Late, []string{"bad"}) || !strings.Contains(err.Error(), "list things/bad: ") {
			t.Errorf("error %v", err)
		}
		if err := infWait(t, func(ctx context.Context) error { return u.WaitForResourceVersion(ctx, "2", "good") }); err != nil {
			t.Error(err)
		}
		fifoMust(t, u.RemoveSource("bad"))
		if err := infWait(t, u.WaitForSync); err != nil {
			t.Error(err)
		}
	}, informer.Source{Name: "good", ListerWatcher: good}, informer.Source{Name: "bad", ListerWatcher: bad})
}

func TestUnionOptional(t *testing.T) {
	good, bad := infCollection("1", "a@1/a"), infCollection("1", "b@1/b")
	bad.fail = forbidden()
	unionTest(t, func(t *testing.T, u *infUnion) {
		if err := infWait(t, u.WaitForSync); err != nil {
			t.Error(err)
		}
		s := u.Status().Sources[1]
		if s.Name != "bad" || !s.Optional || s.Synced || s.Failures == 0 {
			t.Errorf("status %+v", s)
		}
		bad.mu.Lock()
		bad.fail = nil
		bad.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		u.told.expect("Initial +a@1 good", "Initial +b@1 bad")
	}, informer.Source{Name: "good", ListerWatcher: good}, informer.Source{Name: "bad", ListerWatcher: bad, Optional: true})
}

func TestUnionAddRemove(t *testing.T) {
	one, two := infCollection("1", "a@1/a"), infCollection("7", "b@1/b", "c@2/c")
	unionTest(t, func(t *testing.T, u *infUnion) {
		u.told.expect("Initial +a@1 one")
		fifoMust(t, u.AddSource(informer.Source{Name: "two", ListerWatcher: two}))
		if err := u.AddSource(informer.Source{Name: "two", ListerWatcher: two}); !errors.Is(err, informer.ErrExists) {
			t.Errorf("name twice: %v", err)
		}
		synctest.Wait()
		u.told.expect("Initial +b@1 two", "Initial +c@2 two")
		fifoMust(t, u.RemoveSource("two"))
		synctest.Wait()
		u.told.expect("Scope -b@1 two", "Scope -c@2 two")
		if err := u.RemoveSource("two"); err == nil || !strings.Contains(err.Error(), `["one"]`) {
			t.Errorf("unknown source: %v", err)
		}
		if err := u.WaitForResourceVersion(t.Context(), "1", "two"); err == nil || !strings.Contains(err.Error(), `["one"]`) {
			t.Errorf("wait for an unknown source: %v", err)
		}
		fifoMust(t, u.AddSource(informer.Source{Name: "two", ListerWatcher: two}))
		synctest.Wait()
		u.told.expect("Initial +b@1 two", "Initial +c@2 two")
		u.end()
		if err := u.AddSource(informer.Source{Name: "three", ListerWatcher: two}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("AddSource after Run: %v", err)
		}
		if err := u.RemoveSource("two"); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("RemoveSource after Run: %v", err)
		}
		if err := u.SetShard(informer.Shard{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("SetShard after Run: %v", err)
		}
		u.done <- nil // for the end of the test
	}, informer.Source{Name: "one", ListerWatcher: one})
}

// wantCollisions compares what Status lists; nothing of it is quarantined.
func (u *infUnion) wantCollisions(want ...string) {
	u.t.Helper()
	status := u.Status()
	var got []string
	for _, c := range status.Collisions {
		got = append(got, fmt.Sprintf("%s %s@%s/%s: %s", c.Source, c.Key, c.ResourceVersion, c.UID, c.Error))
	}
	if !slices.Equal(got, want) || len(status.Quarantined) > 0 {
		u.t.Errorf("collisions %q, want %q; quarantined %v", got, want, status.Quarantined)
	}
}

func TestUnionCollision(t *testing.T) {
	one, two := infCollection("1", "k@1/u1"), infCollection("100")
	unionTest(t, func(t *testing.T, u *infUnion) {
		u.told.expect("Initial +k@1 one")
		two.event("+k@101/u2")
		two.event("~k@102/u2")
		synctest.Wait()
		u.told.expect()
		if got := u.errors.of("another source"); len(got) != 1 || !strings.Contains(got[0], `things/two: object "k"`) || !strings.HasSuffix(got[0], "one") {
			t.Errorf("reported %q", got)
		}
		two.relist("110", "k@103/u2") // still aside, and no news
		u.wantCollisions("two k@103/u2: another source of the union holds the key: one")
		one.event("~k@2/u1")
		synctest.Wait()
		u.told.expect("Watch ~k@1:2 one")
		one.event("-k@3/u1")
		synctest.Wait()
		u.told.expect("Watch -k@3 one", "Scope +k@103 two")
		u.wantCollisions()
		one.event("+k@4/u3") // now this one is second
		synctest.Wait()
		u.told.expect()
		u.wantCollisions("one k@4/u3: another source of the union holds the key: two")
		two.relist("120")
		u.told.expect("Relist -k@103? two", "Scope +k@4 one")
		two.event("+k@121/u4")
		two.event("-k@122/u4") // while it is aside
		synctest.Wait()
		one.relist("9")
		u.told.expect("Relist -k@4? one")
		if got := u.errors.of("another source"); len(got) != 3 {
			t.Errorf("reported %q", got)
		}
	}, informer.Source{Name: "one", ListerWatcher: one}, informer.Source{Name: "two", ListerWatcher: two})
}

func TestUnionRemovedSourceGivesItsKeysAway(t *testing.T) {
	one, two := infCollection("1", "k@1/u1", "own@1/o"), infCollection("100", "other@9/x")
	unionTest(t, func(t *testing.T, u *infUnion) {
		two.event("+k@101/u2")
		synctest.Wait()
		u.told.told()
		fifoMust(t, u.RemoveSource("one"))
		synctest.Wait()
		told := u.told.told()
		slices.Sort(told)
		if !slices.Equal(told, []string{"Scope +k@101 two", "Scope -k@1 one", "Scope -own@1 one"}) {
			t.Errorf("told %q", told)
		}
	}, informer.Source{Name: "one", ListerWatcher: one}, informer.Source{Name: "two", ListerWatcher: two})
}

func TestUnionVersions(t *testing.T) {
	one, two := infCollection("5"), infCollection("500")
	unionTest(t, func(t *testing.T, u *infUnion) {
		wait := func(version string, sources ...string) *informer.WaitError {
			return infWait(t, func(ctx context.Context) error { return u.WaitForResourceVersion(ctx, version, sources...) })
		}
		for _, ok := range []struct {
			version string
			sources []string
		}{{"5", nil}, {"500", []string{"two"}}, {"", nil}, {"0", []string{"one", "two"}}} {
			if err := wait(ok.version, ok.sources...); err != nil {
				t.Errorf("%v: %v", ok, err)
			}
		}
		if err := wait("500"); err == nil || !slices.Equal(err.Late, []string{"one"}) {
			t.Errorf("error %v", err)
		}
		done := make(chan error)
		go func() { done <- u.WaitForResourceVersion(t.Context(), "501") }()
		synctest.Wait()
		two.event("+b@501/b")
		one.event("+a@501/a")
		if err := <-done; err != nil {
			t.Error(err)
		}
		go func() { done <- u.WaitForResourceVersion(t.Context(), "600", "one") }()
		synctest.Wait()
		one.set("400")
		one.event("=400") // its backend was restored
		if err := <-done; !errors.Is(err, informer.ErrHistoryBreak) {
			t.Errorf("error %v", err)
		}
		go func() { done <- u.WaitForResourceVersion(t.Context(), "600") }()
		synctest.Wait()
		two.event("=700")
		synctest.Wait()
		fifoMust(t, u.RemoveSource("one"))
		if err := <-done; err != nil { // waited for no more
			t.Error(err)
		}
	}, informer.Source{Name: "one", ListerWatcher: one}, informer.Source{Name: "two", ListerWatcher: two})
}

func TestUnionOfNone(t *testing.T) {
	unionTest(t, func(t *testing.T, u *infUnion) {
		if !u.HasSynced() {
			t.Error("nothing to wait for, and not synced")
		}
		fifoMust(t, u.AddSource(informer.Source{Name: "one", ListerWatcher: infCollection("1", "a@1/a")}))
		synctest.Wait()
		u.told.expect("Initial +a@1 one")
	})
}

func TestUnionRefuses(t *testing.T) {
	u := informer.NewUnion(informer.Options[infObject]{})
	source := infCollection("1")
	var none *infSource
	for name, s := range map[string]informer.Source{
		"no name":    {ListerWatcher: source},
		"nil source": {Name: "a"},
		"nil in it":  {Name: "a", ListerWatcher: none},
		"bad shard":  {Name: "a", ListerWatcher: source, Shard: informer.Shard{Index: 2, Count: 2}},
	} {
		if u.AddSource(s) == nil {
			t.Errorf("%s: added", name)
		}
	}
	i := informer.New(source, informer.Options[infObject]{})
	if i.AddSource(informer.Source{Name: "a", ListerWatcher: source}) == nil || i.RemoveSource("a") == nil {
		t.Error("an informer of one source took or gave one")
	}
	store := informer.NewStore(informer.StoreOptions[infObject]{})
	fifoMust(t, store.Add(t.Context(), infObj("a@1/a")))
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "informer: NewUnion: ") {
			t.Errorf("panic %q", got)
		}
	}()
	informer.NewUnion(informer.Options[infObject]{Store: store})
}

// A handler that is late is told the end of what it was shown, and not of what another
// source had under the key meanwhile.
func TestUnionLateHandlerHearsOfItsOwn(t *testing.T) {
	one, two := infCollection("1", "k@1/u1", "x@1/x"), infCollection("100")
	unionTest(t, func(t *testing.T, u *infUnion) {
		late, registration := u.recordSources()
		<-registration.Synced()
		late.told()
		late.block = make(chan struct{})
		one.event("~x@2/x") // blocks the handler
		two.event("+k@101/u2")
		one.event("-k@3/u1")
		synctest.Wait()
		two.event("-k@102/u2")
		synctest.Wait()
		close(late.block)
		synctest.Wait()
		late.expect("Watch ~x@1:2 one", "Watch -k@3 one")
		u.told.told()
	}, informer.Source{Name: "one", ListerWatcher: one}, informer.Source{Name: "two", ListerWatcher: two})
}

// What cannot be applied is listed under the union's key, and ends a wait for it.
func TestUnionQuarantine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := informer.Options[infObject]{Transform: func(obj infObject) (infObject, error) {
			if obj.Name == "bad" {
				return nil, errors.New("poison")
			}
			return obj, nil
		}}
		options.Name, options.Quarantine = "things", true
		i := informer.NewUnion(options)
		east := infCollection("1", "bad@1/b", "a@1/a")
		fifoMust(t, i.AddSource(informer.Source{Name: "east", ListerWatcher: east, KeyPrefix: "east/"}))
		fifoMust(t, i.AddSource(informer.Source{Name: "west", ListerWatcher: infCollection("1"), KeyPrefix: "west/"}))
		r := infStart(t, i)
		defer r.end()
		q := i.Status().Quarantined
		if len(q) != 1 || q[0].Key != "east/bad" || q[0].Source != "east" {
			t.Errorf("quarantined %+v", q)
		}
		_, err := i.WaitFor(t.Context(), "east/bad", func(_ infObject, ok bool) bool { return ok })
		var object *informer.ObjectError
		if !errors.As(err, &object) {
			t.Errorf("error %v", err)
		}
		done := make(chan error)
		go func() {
			_, err := i.WaitFor(t.Context(), "west/bad", func(_ infObject, ok bool) bool { return ok })
			done <- err
		}()
		synctest.Wait()
		fifoMust(t, i.AddSource(informer.Source{Name: "far", ListerWatcher: infCollection("1", "bad@2/b"), KeyPrefix: "west/"}))
		if err := <-done; !errors.As(err, &object) {
			t.Errorf("error %v", err)
		}
	})
}
