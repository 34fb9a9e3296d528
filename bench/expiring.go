// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	laterVersion = 5_000_000 // added to that of a pod that was updated
	onePercent   = 100       // one pod in so many is updated
)

// expiring is a collection for one mirror, whose versions expire when the mirror says so: once
// with nothing changed, and then with one pod in a hundred updated.
type expiring struct {
	mu      sync.Mutex
	lists   int           // versions that expired
	expired chan struct{} // closed with the version that is watched
	listed  time.Time     // arrival of the last list
}

// expirings are those of all mirrors.
type expirings struct {
	b *bodies
	n int

	mu  sync.Mutex
	all map[string]*expiring
}

func (e *expirings) handle(mux *http.ServeMux) {
	for path, answer := range map[string]func(*expiring, http.ResponseWriter, *http.Request){
		"api/v1/pods": e.answer,
		"expired":     func(x *expiring, w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, x.version(1)) },
		"expire":      func(x *expiring, _ http.ResponseWriter, _ *http.Request) { x.expire() },
		"listed":      func(x *expiring, w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, x.arrival().UnixNano()) },
	} {
		mux.HandleFunc("/relist/{id}/"+path, func(w http.ResponseWriter, r *http.Request) { answer(e.of(r.PathValue("id")), w, r) })
	}
}

func (e *expirings) of(id string) *expiring {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := e.all[id]
	if x == nil {
		x = &expiring{expired: make(chan struct{})}
		e.all[id] = x
	}
	return x
}

// version is that of a list after so many more have expired.
func (x *expiring) version(more int) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lists+more == 0 {
		return version
	}
	return strconv.Itoa(firstVersion + 2*laterVersion + x.lists + more)
}

func (x *expiring) expire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	close(x.expired)
	x.lists, x.expired = x.lists+1, make(chan struct{})
}

func (x *expiring) arrival() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listed
}

func (e *expirings) answer(x *expiring, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	x.mu.Lock()
	expired, lists := x.expired, x.lists
	x.mu.Unlock()
	now := x.version(0)
	if r.URL.Query().Get("watch") == "" {
		x.mu.Lock()
		x.listed = time.Now()
		x.mu.Unlock()
		out := bufio.NewWriterSize(w, 1<<16)
		state := listing{version: now}
		if lists > 1 {
			state.updated = onePercent
		}
		writeList(out, e.b.json, e.n, state)
		_ = out.Flush()
		return
	}
	w.(http.Flusher).Flush()
	if r.URL.Query().Get("resourceVersion") == now {
		select {
		case <-expired:
		case <-r.Context().Done():
			return
		}
	}
	fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}}`)
}
