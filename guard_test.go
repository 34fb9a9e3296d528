// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer"
)

// scribbler changes what it is given, one by one or in batches.
type scribbler struct{ scribble func(obj infObject) }

func (s scribbler) Handle(_ context.Context, c informer.Change[infObject]) {
	if c.Type == informer.Updated {
		s.scribble(c.New)
	}
}

type batchScribbler struct{ scribbler }

func (s batchScribbler) HandleBatch(ctx context.Context, changes []informer.Change[infObject]) {
	for n := range changes {
		s.Handle(ctx, changes[n])
		changes[n] = informer.Change[infObject]{}
	}
}

func guardTest(t *testing.T, guard int, handler informer.Handler[infObject]) (source *infSource, i *informer.Informer[infObject], errs *infErrors) {
	errs = &infErrors{}
	options := informer.Options[infObject]{MutationGuard: guard}
	options.Name, options.OnError = "things", errs.add
	source = infCollection("1", "a@1/a", "b@1/b")
	i = informer.New(source, options)
	if handler != nil {
		_, err := i.AddHandler(handler, informer.HandlerOptions{Name: "scribbler"})
		fifoMust(t, err)
	}
	r := infStart(t, i)
	t.Cleanup(r.end)
	return source, i, errs
}

func TestMutationGuard(t *testing.T) {
	scribble := scribbler{func(obj infObject) { obj.Labels = map[string]string{"x": obj.Name} }}
	for name, handler := range map[string]informer.Handler[infObject]{"one": scribble, "batch": batchScribbler{scribble}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source, _, errs := guardTest(t, 1, handler)
				source.event("~a@2/a")
				synctest.Wait()
				if got := errs.of("scribbler"); len(got) != 1 || !strings.Contains(got[0], `"a"`) {
					t.Errorf("reported %q", got)
				}
				var mutation *informer.MutationError
				if !errors.As(errs.all[0], &mutation) || mutation.Key != "a" || mutation.Handler != "scribbler" {
					t.Errorf("error %v", errs.all[0])
				}
				source.event("-a@3/a")
				synctest.Wait()
				if len(errs.all) != 1 {
					t.Errorf("reported %v", errs.all)
				}
			})
		})
	}
	t.Run("a reader of the store", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source, i, errs := guardTest(t, 1, nil)
			obj, _ := i.Store().Get("b")
			obj.Labels = map[string]string{"x": "y"}
			source.event("~b@2/b")
			synctest.Wait()
			if got := errs.of(`"b"`); len(got) != 1 || strings.Contains(got[0], "handler") {
				t.Errorf("reported %q", got)
			}
		})
	})
	t.Run("nobody", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source, _, errs := guardTest(t, 1, scribbler{func(infObject) {}})
			for n := range 5 {
				source.event(fmt.Sprintf("~a@%d/a", n+2))
			}
			synctest.Wait()
			if len(errs.all) != 0 {
				t.Errorf("reported %v", errs.all)
			}
		})
	})
	t.Run("a sample", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source, _, errs := guardTest(t, 4, scribble)
			for n := range 400 {
				source.event(fmt.Sprintf("+k%d@%d/k%[1]d", n, 2*n+2))
				synctest.Wait() // otherwise the two are merged
				source.event(fmt.Sprintf("~k%d@%d/k%[1]d", n, 2*n+3))
			}
			synctest.Wait()
			if n := len(errs.of("scribbler")); n == 0 || n > 250 {
				t.Errorf("reported %d of 400", n)
			}
		})
	})
	t.Run("negative", func(t *testing.T) {
		defer func() {
			if got := fmt.Sprint(recover()); got != "informer: New: negative MutationGuard" {
				t.Errorf("panic %q", got)
			}
		}()
		informer.New(infCollection("1"), informer.Options[infObject]{MutationGuard: -1})
	})
}
