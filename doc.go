// SPDX-License-Identifier: Apache-2.0

// Package informer keeps a local, indexed mirror of a remote collection that is served by
// the Kubernetes list/watch protocol, and tells handlers what changed.
//
//	ListerWatcher ──► Reflector ──► DeltaFIFO ──► Informer ──► Store + indexes ──► handler queues ──► handlers
//	  (source)        pager/          deltas       applies      read-only view     one per handler
//	                  backoff/        per key      batches      for everybody
//	                  recovery
//
// Data flows in one direction, and each stage knows only the next. Most programs need the
// two ends: New with a source, and a handler, or the Store.
//
//	pods := informer.New(informer.FromClient(clientset.CoreV1().Pods("")), informer.Options[*corev1.Pod]{})
//	go pods.Run(ctx)
//	if err := pods.WaitForSync(ctx); err != nil {
//		return err // says what the source answered
//	}
//	pod, ok := pods.Store().Get("default/web-0")
//
// Others take it apart: a Reflector feeds any Sink, a DeltaFIFO or a Store among them.
//
// # More than one
//
// A Group runs informers of different types under one Run, one wait and one status, and
// Shared lets two controllers of a process have one mirror. NewUnion keeps many sources of
// one type (namespaces, clusters) in one store behind one sync: each entry knows its
// source, each source has its own version, status and backoff, and they come and go while
// it runs. A Shard is one of N equal parts of a collection, so that N replicas share the
// work; SetShard hands over without a gap. What leaves the scope of a mirror, with its
// source or its shard, is Deleted with CauseScope: it left the mirror, not the server.
//
// # Words
//
// An object has a key (namespace/name), a resource version and a UID. A watch brings
// events, a DeltaFIFO holds deltas, a handler is told of changes, each with a cause. Sync
// is the delivery of the first list; resync the periodic redelivery of the local state,
// without a request; a relist is a list that recovery asked for, and has a reason.
//
// # Promises
//
// P1 Convergence. When the collection stops changing and the source answers, the store
// becomes equal to it, whatever failed before, for every object that can be applied.
//
// P2 Lifecycle. For each key a handler sees Added, then any number of Updated, then
// Deleted, and around again. It never sees Deleted for an object that it was not shown,
// and never the same end twice in a row.
//
// P3 Store first. When a handler hears of a change, the store already holds it, or a later
// state.
//
// P4 Atomic states. Readers see the store before or after a batch, a relist or an index
// change, never between. Its version advances only after store and indexes have changed,
// and with bookmarks.
//
// P5 No silent loss. An event that cannot be applied is never skipped while the version
// moves on: it is retried through a relist, or its object is quarantined, reported, and
// listed in Status.
//
// P6 No silent wait. Whatever waits ends with ctx. Its error wraps the cause of ctx and
// the last failure of the source, and names the source, or the handler that is late. A
// failure inside a stream counts like one of a request.
//
// P7 Bounded memory. A slow or blocked handler costs memory by keys, not by events, in the
// default mode. A relist keeps unchanged objects, and delivers nothing for them.
//
// P8 Bounded calls. Every failure goes through the one backoff of its source; none loops
// without delay; every delay ends with ctx; Retry-After is a lower bound, up to 5 minutes.
//
// P9 Ownership. Run blocks, owns every goroutine that it starts, and returns after all of
// them. A List function that ignores its context is the one exception: it is not waited
// for. Objects handed out are shared and read-only; the library does not deep-copy them,
// and copies a list item once, shallowly, where it would pin its page.
//
// P10 Discretion. Logs, errors and traces name type, key, UID and version, never content.
//
// # What a handler may do
//
// Handle is called with one change at a time, those of one key in order. It may block: the
// other handlers, the store and the source go on, and what happens to a key meanwhile is
// merged into one change from what the handler saw last to what is newest. It may read the
// store, add handlers, and remove itself (RegistrationFromContext). It must not change the
// objects it is given, which MutationGuard finds out, and must not wait for what waits
// for it (ErrInHandler).
//
// # When the source fails
//
// A failure never clears the store. Status says how old the data is, what failed last and
// how often; OnError hears of every failure; the log has one line when a source begins to
// fail, one when it begins to fail in another way, and one when it is well again. A watch
// that ends is resumed where it was; only an expired version, a refused request and repeated
// failures without progress lead to a relist. Reflector describes the rounds, and
// recovery.go is the table of decisions.
//
// ReflectorOptions.Verify bounds how long a fault of the mirror itself can last: in its
// period the mirror is compared with a list at its very version, repaired with CauseVerify,
// and each object reported with ErrRepaired.
//
// # Testing
//
// Package informertest has a collection in memory that answers as an API server does, for
// use within testing/synctest, where minutes of backoff pass in no time:
//
//	synctest.Test(t, func(t *testing.T) {
//		pods := informertest.NewCollection(t, pod("a"), pod("b"))
//		inf := informer.New(pods, informer.Options[*corev1.Pod]{})
//		go inf.Run(t.Context())
//		synctest.Wait()
//		pods.FailNext(3, errors.New("down"))
//		pods.CutStreams()
//		time.Sleep(time.Minute)
//		synctest.Wait()
//		…
//	})
//
// A lister needs no informer: seed a Store with Replace, and pass on its View.
package informer
