// SPDX-License-Identifier: Apache-2.0

// Package clientgo puts this library's informer in the place of client-go's: in programs that
// take a cache.SharedIndexInformer, in shared informer factories, under generated listers, and
// in the manager of controller-runtime. One line changes:
//
//	pods := clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, resync, indexers)
//
//	factory.InformerFor(&corev1.Pod{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
//		lw := clientgo.ToListerWatcher(informer.FromClient(client.CoreV1().Pods("")))
//		return clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, resync, indexers)
//	})
//
//	manager.Options{Cache: cache.Options{NewInformer: clientgo.NewInformerFunc(clientgo.Options{})}}
//
// It is a module of its own, so that client-go reaches nobody who does without it.
//
// # What differs
//
// What client-go documents holds; the conformance tests of this package run on both. Where its
// documentation leaves a choice, or its code does something else, this is what to expect:
//
//   - A relist tells handlers nothing about objects that have not changed.
//   - Handlers added before Run are told, as of the first list, of what was put into the store by hand.
//   - A handler that asks for resyncs gets them, also where the informer's own period is 0. Periods
//     below a second become one, periods are not rounded to each other, and each is up to a
//     tenth longer.
//   - The watch error handler hears of every failure, those inside a stream and refused
//     connections among them, one call at a time. The log has its lines either way. Its Reflector
//     names the source, and is not the one that runs.
//   - An index function that fails or panics leaves its object out of that index, and is
//     reported to the watch error handler and the log; client-go ends the process.
//   - Objects are API objects: what a transform returns, and what is put into the store, has
//     both the methods of metav1.Object and of runtime.Object. Anything else is an error.
//   - A registration of another informer is an error to RemoveEventHandler.
//   - The mutation detector and the metrics provider of client-go are not served;
//     Options.MutationGuard is a detector for production, SharedIndexInformer.Informer has
//     Status, and hooks for metrics come with Options.Reflector.
//   - Of client-go's feature gates, WatchListClient counts; the others are about its inside.
//
// docs/migrating.md, in the repository, goes through tools/cache name by name.
package clientgo
