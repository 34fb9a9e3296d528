// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"net/url"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/clientgo"
	"github.com/informerkit/informer/informertest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	fcache "k8s.io/client-go/tools/cache/testing"
)

func openSilent(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	w := watch.NewProxyWatcher(make(chan watch.Event))
	context.AfterFunc(ctx, w.Stop)
	return w, nil
}

func listNothing(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
}

// TestBothWays: a source that went through client-go's interface is itself again.
func TestBothWays(t *testing.T) {
	t.Parallel()
	ours := informertest.NewCollection[*corev1.ConfigMap](nil)
	if got := clientgo.FromListerWatcher(clientgo.ToListerWatcher(ours)); got != informer.ListerWatcher(ours) {
		t.Errorf("there and back: %T", got)
	}
	plain := &informer.ListWatch{ListFunc: listNothing, WatchFunc: openSilent, NoWatchList: true}
	type marked interface{ IsWatchListSemanticsUnSupported() bool }
	there := clientgo.ToListerWatcher(plain)
	back := clientgo.FromListerWatcher(struct{ marker }{marker{cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{}, plain)}})
	if !there.(marked).IsWatchListSemanticsUnSupported() || !back.(marked).IsWatchListSemanticsUnSupported() {
		t.Error("that there are no initial events got lost on the way")
	}
}

// marker passes on what cache.ListerWatcher does not name.
type marker struct{ cache.ListerWatcher }

func (m marker) IsWatchListSemanticsUnSupported() bool {
	return m.ListerWatcher.(interface{ IsWatchListSemanticsUnSupported() bool }).IsWatchListSemanticsUnSupported()
}

// TestClientGoOnOurSource runs client-go's informer, and its reader without a context.
func TestClientGoOnOurSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := informertest.NewCollection(t, configMap("a"))
		lw := clientgo.ToListerWatcher(source)
		theirs := cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{})
		stop := make(chan struct{})
		over := make(chan struct{})
		go func() { theirs.Run(stop); close(over) }()
		synctest.Wait()
		_, err := source.Create(t.Context(), configMap("b"))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		source.RequireEqual(t, storeOf{theirs.GetStore()})
		close(stop)
		<-over

		//lint:ignore SA1019 the form without a context is to work as well
		list, err := lw.List(metav1.ListOptions{})
		if err != nil || len(list.(*informer.ObjectList[*corev1.ConfigMap]).Items) != 2 {
			t.Errorf("list: %T, %v", list, err)
		}
		//lint:ignore SA1019 the same
		w, err := lw.Watch(metav1.ListOptions{ResourceVersion: source.ResourceVersion()})
		if err != nil {
			t.Fatal(err)
		}
		w.Stop()
		synctest.Wait()
	})
}

// TestFakes: the sources of tests are listed at once, and nothing that they send gets lost.
func TestFakes(t *testing.T) {
	t.Parallel()
	shared := watch.NewFakeWithChanSize(10, false)
	controller := fcache.NewFakeControllerSource()
	controller.Add(configMap("a"))
	clients := fake.NewClientset(configMap("a")).CoreV1().ConfigMaps("ns")
	reacting, theirs := fake.NewClientset(configMap("a")), watch.NewFakeWithChanSize(10, false)
	reacting.PrependWatchReactor("configmaps", clienttesting.DefaultWatchReactor(theirs, nil))
	for title, row := range map[string]struct {
		lw   cache.ListerWatcher
		send func()
	}{
		"a FakeWatcher that the test keeps": {&cache.ListWatch{
			ListWithContextFunc:  listNothing,
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return shared, nil },
		}, func() { shared.Add(configMap("b")) }},
		"a FakeControllerSource": {withoutContext{controller}, func() { controller.Add(configMap("b")) }},
		"a client whose watches the test sends": {
			clientgo.ToListerWatcher(informer.FromClient(reacting.CoreV1().ConfigMaps("ns"))), func() { theirs.Add(configMap("b")) },
		},
		"a fake clientset": {&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return clients.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return clients.Watch(ctx, o)
			},
		}, func() { _, _ = clients.Create(t.Context(), configMap("b"), metav1.CreateOptions{}) }},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			maps := clientgo.NewSharedIndexInformer(row.lw, &corev1.ConfigMap{}, 0, nil)
			heard := make(chan string, 10)
			if _, err := maps.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { heard <- name(obj) }}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan struct{})
			go func() { maps.RunWithContext(ctx); close(over) }()
			<-maps.HasSyncedChecker().Done()
			row.send()
			for range 2 {
				if name := <-heard; name == "b" {
					break
				}
			}
			cancel()
			<-over
		})
	}
}

// withoutContext is a source of the old kind.
type withoutContext struct{ source *fcache.FakeControllerSource }

func (w withoutContext) List(o metav1.ListOptions) (runtime.Object, error) { return w.source.List(o) }
func (w withoutContext) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return w.source.Watch(o)
}

// TestRefusals: a watch-list that fails for want of it is not asked for again, one that the
// server or the network refused is what it was.
func TestRefusals(t *testing.T) {
	t.Parallel()
	initial := true
	for title, row := range map[string]struct {
		err     error
		refused bool
	}{
		"a source's own error": {errors.New("strconv: invalid syntax"), true},
		"a status":             {apierrors.NewServiceUnavailable("later"), false},
		"the network":          {&url.Error{Op: "Get", URL: "http://server", Err: syscall.ECONNREFUSED}, false},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			source := clientgo.FromListerWatcher(&cache.ListWatch{
				WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, row.err },
			})
			_, err := source.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &initial})
			if !errors.Is(err, row.err) || apierrors.IsMethodNotSupported(err) != row.refused {
				t.Errorf("with initial events: %v", err)
			}
			if _, err := source.Watch(t.Context(), metav1.ListOptions{}); err != row.err {
				t.Errorf("without: %v", err)
			}
		})
	}
}
