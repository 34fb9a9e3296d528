// SPDX-License-Identifier: Apache-2.0

// Package informertest is an API server in memory, to test controllers with: it answers
// lists and watches as kube-apiserver does, and fails when it is told to.
//
// # Two faces
//
// A [Collection] is an informer.ListerWatcher of typed objects, for unit tests on fake time.
// A [Server] is an http.Handler, for tests of what is between a program and its server: each
// of its resources is a Collection too, and a typed Collection can be given to it with
// [Serve], so that a test writes and breaks things on one face and looks on from the other.
//
// # A controller on fake time
//
// Inside testing/synctest nothing here takes real time, so a test can wait for a minute of
// backoff, or for a bookmark:
//
//	func TestController(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			ctx, cancel := context.WithCancel(t.Context())
//			pods := informertest.NewCollection(t, pod("a"), pod("b"))
//			mirror := informer.New(pods, informer.Options[*corev1.Pod]{})
//			done := make(chan error, 1)
//			go func() { done <- mirror.Run(ctx) }()
//			synctest.Wait() // until nothing can move but the clock: a and b are in the mirror
//
//			pods.FailNext(3, errors.New("down")) // the server is away for three calls,
//			pods.CutStreams()                    // the watch breaks,
//			_, err := pods.Create(ctx, pod("c")) // something happens meanwhile,
//			if err != nil {
//				t.Fatal(err)
//			}
//			pods.Compact()          // and the server has forgotten it
//			time.Sleep(time.Minute) // of fake time
//			synctest.Wait()
//			pods.RequireEqual(t, mirror.Store())
//
//			cancel()
//			if err := <-done; err != nil {
//				t.Error(err)
//			}
//		})
//	}
//
// The context ends, and Run returns, before the test does: a Collection fails the test for
// each watch that is still open at its cleanup.
//
// Tests write with [Collection.Create], [Collection.Update] and [Collection.Delete], which
// return the errors of an API server, and look at what was asked with [Collection.Requests].
//
// # Over HTTP
//
//	server := informertest.NewServer(informertest.ServerOptions{Token: "secret"})
//	maps := server.Add(informertest.Resource{
//		Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespaced: true,
//	})
//	loopback := httptest.NewServer(server)
//	defer loopback.Close()
//
// Watches hold httptest's Close up until they end; CutStreams ends them. net/http over real
// sockets does not run on fake time; over net.Pipe it does.
//
// # What it answers
//
// Versions come from one counter, which the resources of a server share. Lists: consistent
// without a version; from the watch cache, whole, at "0"; at N not older than N, or exactly N
// with a limit or with match Exact, from the history; in pages that carry the number of items
// that remain, unless there is a selector. Tokens and versions that [Collection.Compact] or
// [Quirks] History left behind are answered with 410, versions of the future with 504 after 3
// s. Watches: from a version on; with the initial events in key order and the bookmark that
// ends them; ERROR 410 in the stream where the version is too old; silence up to a version of
// the future. Bookmarks come every minute and 2 s before the deadline, once the version has
// moved. An object that leaves the selector is DELETED. A write that changes nothing is no
// write, and finalizers hold a deletion up.
//
// Selectors are those of labels, and the fields metadata.name and metadata.namespace.
// [Quirks] make the server an older or an odder one. There is no validation of content, no
// patch and no subresource; discovery says what is served, group by group, without short
// names; encodings are JSON alone.
//
// # Faults
//
// [Collection.FailNext] and [Collection.FailWhile] answer lists and watches with an error,
// [Collection.CutStreams] breaks what is open, [Collection.Compact] forgets the history,
// [Collection.Restore] goes back to a [Collection.Snapshot], as a backup does, and
// [Collection.SetQuirks] sets latency, truncated and slow bodies, half-open streams, options
// that are ignored, markers, bookmarks and paging that are missing, tokens that expire or
// repeat, and events that are dropped, doubled and reordered. All of it works on both faces.
//
// A client that is up to date does not notice a compaction. To have one find its version
// gone, keep it away meanwhile:
//
//	pods.FailWhile(func(informertest.Request) bool { return true }, errors.New("away"))
//	pods.CutStreams()
//	_, err := pods.Create(ctx, pod("c"))
//	pods.Compact()
//	pods.Recover()
package informertest
