// SPDX-License-Identifier: Apache-2.0

// Package servertable holds, as tests over plain HTTP, what an API server answers to lists and
// watches. The same rows run against the in-memory server of informertest and against a real
// kube-apiserver in e2e, so that the two cannot drift apart.
//
// A row asserts what arrives and in which order, never when. Rows whose answer the server delays
// wait for the answer; every request ends with the fail-safe of [Target], which is no assertion.
//
// Rows about restarts, restored backends, schema changes, second servers and shards are not here:
// they need more than one server or one configuration.
package servertable

import (
	"net/http"
	"testing"
	"time"
)

// Target is a server under test. It has to serve "configmaps" with a watch cache and "events"
// without one, both of the core group at version v1, with JSON for create, update, delete, list
// and watch.
type Target struct {
	// BaseURL is the server's address without a trailing slash, such as "https://127.0.0.1:6443".
	BaseURL string

	// Client sends the requests. Authentication and trust are its business. It must not have a
	// Timeout, which would end watches.
	Client *http.Client

	// Namespace returns the name of a namespace that exists and is empty. It is called once a row
	// and must return another one each time. Concurrency: rows that [Run] starts call it at once.
	Namespace func(t testing.TB) string

	// Expire makes every version up to the given one too old for a watch of "configmaps". Nil says
	// that version 1 is too old from the start, as it is where a server has started on a store
	// that already had a history.
	Expire func(t testing.TB, version string)

	// ComponentStatuses says that the server has the resource "componentstatuses", which is
	// computed and not stored.
	ComponentStatuses bool

	// Patient runs the rows that take the server minutes of its own clock.
	Patient bool

	// FailSafe bounds each request, watches included. Zero means 5 minutes.
	FailSafe time.Duration
}

// Row is one answer of a server.
type Row struct {
	// Name is the name of the subtest.
	Name string
	// Patient marks a row that takes minutes of the server's clock.
	Patient bool
	// ComponentStatuses marks a row that needs the resource of that name.
	ComponentStatuses bool
	// Check runs the row. It starts no subtest and calls no t.Parallel, so that it can be run
	// inside a testing/synctest bubble, with a client that stays inside it.
	Check func(t *testing.T, target Target)
}

// Runs says whether the target has what the row needs.
func (r Row) Runs(target Target) bool {
	return (!r.Patient || target.Patient) && (!r.ComponentStatuses || target.ComponentStatuses)
}

// Run runs every row that the target can run, each as a parallel subtest of t.
func Run(t *testing.T, target Target) {
	for _, row := range Rows() {
		t.Run(row.Name, func(t *testing.T) {
			if !row.Runs(target) {
				t.Skip("the target does not have what this row needs")
			}
			t.Parallel()
			row.Check(t, target)
		})
	}
}

// Rows returns all rows.
func Rows() []Row {
	rows := append(listRows(), listVersionRows()...)
	rows = append(rows, watchRows()...)
	rows = append(rows, watchListRows()...)
	return append(rows, bookmarkRows()...)
}

// row makes the usual row from a function over a session.
func row(name string, check func(s *session)) Row {
	return Row{Name: name, Check: func(t *testing.T, target Target) { check(newSession(t, target)) }}
}
