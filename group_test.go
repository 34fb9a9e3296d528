// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func namedInformer(name string, source informer.ListerWatcher) *informer.Informer[infObject] {
	options := informer.Options[infObject]{}
	options.Name = name
	return informer.New(source, options)
}

// groupRun runs a group until the end of the test.
func groupRun(t *testing.T, g *informer.Group) (end func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-done
	}
}

func groupNames(g *informer.Group) string {
	var names []string
	for _, s := range g.Status() {
		names = append(names, fmt.Sprint(s.Name, " ", s.Synced))
	}
	return strings.Join(names, ", ")
}

func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g informer.Group
		b, a := namedInformer("b", infCollection("1", "x@1/x")), namedInformer("a", infCollection("1"))
		fifoMust(t, g.Add(b, a))
		end := groupRun(t, &g)
		fifoMust(t, g.WaitForSync(t.Context()))
		late := namedInformer("late", infCollection("1"))
		fifoMust(t, g.Add(late)) // while it runs
		synctest.Wait()
		if got := groupNames(&g); got != "a true, b true, late true" {
			t.Errorf("group of %s", got)
		}
		fifoMust(t, g.Remove(t.Context(), "b"))
		if got := b.Status().Sources[0].Phase; got != informer.PhaseStopped {
			t.Errorf("the removed one is %s", got)
		}
		if got := groupNames(&g); got != "a true, late true" {
			t.Errorf("group of %s", got)
		}
		fifoMust(t, g.Add(namedInformer("b", infCollection("1")))) // the name is free
		if err := g.Run(t.Context()); !errors.Is(err, informer.ErrStarted) {
			t.Errorf("second Run: %v", err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		if err := g.Add(namedInformer("c", infCollection("1"))); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("Add after Run: %v", err)
		}
		if err := g.Remove(t.Context(), "a"); err != nil {
			t.Errorf("Remove after Run: %v", err)
		}
	})
}

func TestGroupRefuses(t *testing.T) {
	var g informer.Group
	a := namedInformer("a", infCollection("1"))
	fifoMust(t, g.Add(a))
	if err := g.Add(namedInformer("b", infCollection("1")), namedInformer("a", infCollection("1"))); !errors.Is(err, informer.ErrExists) {
		t.Errorf("name taken: %v", err)
	}
	c := namedInformer("c", infCollection("1"))
	if err := g.Add(c, c); !errors.Is(err, informer.ErrExists) {
		t.Errorf("twice: %v", err)
	}
	var none *informer.Informer[infObject]
	for _, m := range []informer.Member{nil, none} {
		if g.Add(m) == nil {
			t.Error("a nil member was added")
		}
	}
	if got := groupNames(&g); got != "a false" { // all or none
		t.Errorf("group of %s", got)
	}
	if err := g.Remove(t.Context(), "z"); err == nil || !strings.Contains(err.Error(), `["a"]`) {
		t.Errorf("unknown member: %v", err)
	}
}

func TestGroupWaitNamesWhoIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g informer.Group
		failing := infCollection("1")
		failing.fail = errors.New("down")
		fifoMust(t, g.Add(namedInformer("late", failing), namedInformer("fine", infCollection("1"))))
		end := groupRun(t, &g)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := g.WaitForSync(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, failing.fail) {
			t.Errorf("error %v", err)
		}
		if text := err.Error(); !strings.Contains(text, "late") || strings.Contains(text, "fine") {
			t.Errorf("error %q", text)
		}
		waited := make(chan error)
		go func() { waited <- g.WaitForSync(t.Context()) }()
		synctest.Wait()
		fifoMust(t, g.Remove(t.Context(), "late"))
		if err := <-waited; err != nil { // no longer a member
			t.Error(err)
		}
		fifoMust(t, end())
	})
}

func TestGroupEndsWithOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g informer.Group
		failing := infCollection("1")
		failing.fail = errors.New("down")
		options := informer.Options[infObject]{}
		options.Name, options.StopOn = "stopper", func(error) bool { return true }
		other := namedInformer("other", infCollection("1"))
		fifoMust(t, g.Add(informer.New(failing, options), other))
		err := g.Run(t.Context())
		if !errors.Is(err, failing.fail) || !strings.HasPrefix(err.Error(), "stopper: ") {
			t.Errorf("error %v", err)
		}
		if got := other.Status().Sources[0].Phase; got != informer.PhaseStopped {
			t.Errorf("the other one is %s", got)
		}
	})
}

// panickingSource panics as it is listed.
type panickingSource struct{ *infSource }

func (panickingSource) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	panic("no list")
}

func TestPanicsReachTheCaller(t *testing.T) {
	var g informer.Group
	fifoMust(t, g.Add(namedInformer("panics", panickingSource{infCollection("1")})))
	u := informer.NewUnion(informer.Options[infObject]{})
	fifoMust(t, u.AddSource(informer.Source{Name: "panics", ListerWatcher: panickingSource{infCollection("1")}}))
	for name, run := range map[string]func(context.Context) error{"group": g.Run, "union": u.Run} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "no list") {
					t.Errorf("panic %v", got)
				}
			}()
			_ = run(t.Context())
		})
	}
}

// leavingSource ends the goroutine that lists it, as a test's Fatal does.
type leavingSource struct{ *infSource }

func (leavingSource) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	goruntime.Goexit()
	return nil, nil
}

// So does the goroutine that runs it, once all others have ended.
func TestGoexitReachesTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := namedInformer("other", infCollection("1"))
		var g informer.Group
		fifoMust(t, g.Add(namedInformer("leaves", leavingSource{infCollection("1")}), other))
		u := informer.NewUnion(informer.Options[infObject]{})
		fifoMust(t, u.AddSource(informer.Source{Name: "other", ListerWatcher: infCollection("1")}))
		fifoMust(t, u.AddSource(informer.Source{Name: "leaves", ListerWatcher: leavingSource{infCollection("1")}}))
		for name, run := range map[string]func(context.Context) error{"group": g.Run, "union": u.Run} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			returned, ended := false, make(chan struct{})
			go func() {
				defer close(ended)
				_ = run(ctx)
				returned = true
			}()
			<-ended
			if returned || ctx.Err() != nil {
				t.Errorf("%s: returned: %v, ctx: %v", name, returned, ctx.Err())
			}
			cancel()
		}
		if got := other.Status().Sources[0].Phase; got != informer.PhaseStopped {
			t.Errorf("the other one is %s", got)
		}
	})
}

// memberFunc is a Member whose Run is the function.
type memberFunc struct {
	*informer.Informer[infObject]
	run func(ctx context.Context) error
}

func (m memberFunc) Run(ctx context.Context) error { return m.run(ctx) }

func TestGroupKeepsFailureBesideTheEnd(t *testing.T) {
	failure := errors.New("flush failed")
	for name, test := range map[string]struct {
		end  func(ctx context.Context) error
		want error
	}{
		"nothing":           {func(context.Context) error { return nil }, nil},
		"the end":           {context.Cause, nil},
		"the end, wrapped":  {func(ctx context.Context) error { return fmt.Errorf("run: %w", ctx.Err()) }, nil},
		"the end, twice":    {func(ctx context.Context) error { return errors.Join(ctx.Err(), context.Cause(ctx)) }, nil},
		"a failure":         {func(context.Context) error { return failure }, failure},
		"a failure, joined": {func(ctx context.Context) error { return errors.Join(ctx.Err(), failure) }, failure},
		"another deadline":  {func(context.Context) error { return context.DeadlineExceeded }, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g informer.Group
				fifoMust(t, g.Add(memberFunc{namedInformer("m", infCollection("1")), func(ctx context.Context) error {
					<-ctx.Done()
					return test.end(ctx)
				}}))
				if err := groupRun(t, &g)(); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
					t.Errorf("error %v, want %v", err, test.want)
				}
			})
		})
	}
}

func TestSharedOfStoppedGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g informer.Group
		fifoMust(t, g.Add(namedInformer("m", infCollection("1"))))
		fifoMust(t, groupRun(t, &g)())
		for _, name := range []string{"m", "other"} {
			if got, err := informer.Shared(&g, namedInformer(name, infCollection("1"))); got != nil || !errors.Is(err, informer.ErrStopped) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	})
}

func TestGroupRemoveInHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g informer.Group
		a, b := namedInformer("a", infCollection("1", "x@1/x")), namedInformer("b", infCollection("1"))
		var own, other error
		_, err := a.AddHandler(informer.HandlerFunc[infObject](func(ctx context.Context, _ informer.Change[infObject]) {
			other = g.Remove(ctx, "b")
			own = g.Remove(ctx, "a")
		}), informer.HandlerOptions{})
		fifoMust(t, err)
		fifoMust(t, g.Add(a, b))
		end := groupRun(t, &g)
		time.Sleep(time.Second) // a watch has a while to end
		synctest.Wait()
		if other != nil || !errors.Is(own, informer.ErrInHandler) {
			t.Errorf("errors %v and %v", other, own)
		}
		if got := groupNames(&g); got != "" {
			t.Errorf("group of %s", got)
		}
		fifoMust(t, end())
	})
}

func TestShared(t *testing.T) {
	var g informer.Group
	build := func(change func(o *informer.Options[infObject])) *informer.Informer[infObject] {
		o := informer.Options[infObject]{Indexers: informer.Indexers[infObject]{"ns": informer.IndexByNamespace[infObject]}}
		o.Name = "things"
		if change != nil {
			change(&o)
		}
		return informer.New(infCollection("1"), o)
	}
	first := build(nil)
	for _, candidate := range []*informer.Informer[infObject]{first, first, build(nil)} {
		if got, err := informer.Shared(&g, candidate); got != first || err != nil {
			t.Errorf("got %p, %v, want %p", got, err, first)
		}
	}
	for name, change := range map[string]func(o *informer.Options[infObject]){
		"LabelSelector": func(o *informer.Options[infObject]) { o.LabelSelector = "a=b" },
		"Shard":         func(o *informer.Options[infObject]) { o.Shard = informer.Shard{Count: 2} },
		"Indexers":      func(o *informer.Options[infObject]) { o.Indexers = nil },
		"Transform": func(o *informer.Options[infObject]) {
			o.Transform = func(obj infObject) (infObject, error) { return obj, nil }
		},
		"Store": func(o *informer.Options[infObject]) {
			o.Store = informer.NewStore(informer.StoreOptions[infObject]{})
		},
	} {
		if _, err := informer.Shared(&g, build(change)); err == nil || !strings.HasSuffix(err.Error(), "another "+name) {
			t.Errorf("%s differs: %v", name, err)
		}
	}
	options := informer.Options[*pod]{}
	options.Name = "things"
	if _, err := informer.Shared(&g, informer.New(infCollection("1"), options)); !errors.Is(err, informer.ErrExists) {
		t.Errorf("another type: %v", err)
	}
	if len(g.Status()) != 1 {
		t.Errorf("%d members", len(g.Status()))
	}
	if _, err := informer.Shared(nil, first); err == nil {
		t.Error("a nil group was taken")
	}
	if !slices.Equal([]string{g.Status()[0].Name}, []string{"things"}) {
		t.Errorf("status %v", g.Status())
	}
}
