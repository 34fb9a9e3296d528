// SPDX-License-Identifier: Apache-2.0

// Package proxy forwards TCP connections on loopback, and does to them what networks do: it cuts
// them, stops forwarding without closing them, slows them down, and refuses new ones.
package proxy

import (
	"net"
	"sync"
	"testing"
	"time"
)

// chunk is how much is forwarded at once, and sliceTime how long a chunk of a throttled connection
// takes.
const (
	chunk     = 16 << 10
	sliceTime = 50 * time.Millisecond
)

// Proxy forwards every connection that it accepts to one address.
//
// Concurrency: its methods may be called from several goroutines.
//
// Lifetime: until the test that made it is over, which waits for all its goroutines.
type Proxy struct {
	// Addr is the address that it listens on.
	Addr string

	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu      sync.Mutex
	links   map[*link]struct{}
	refuses bool
	rate    int // bytes a second, each way of each connection; 0: as they come
	total   int // connections accepted and not refused
}

// New starts a proxy for the address, and ends it when the test is over.
func New(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: listener.Addr().String(), target: target, listener: listener, links: map[*link]struct{}{}}
	p.running.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close() // Its only failure is to be closed already.
		p.Refuse(true)
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Cut resets all connections, as a machine does that has forgotten them.
func (p *Proxy) Cut() { p.each((*link).reset) }

// Close ends all connections in an orderly way, in the middle of whatever they carry.
func (p *Proxy) Close() { p.each((*link).end) }

// Stall stops forwarding on the connections that are open, without closing them. What the ends
// write meanwhile is kept. New connections are forwarded.
func (p *Proxy) Stall() { p.each((*link).stall) }

// Resume forwards what Stall has held back, and all that follows.
func (p *Proxy) Resume() { p.each((*link).resume) }

// Throttle limits each way of each connection to so many bytes a second, at least 20; 0: no limit.
func (p *Proxy) Throttle(rate int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate = rate
}

// Refuse says whether new connections are reset at once.
func (p *Proxy) Refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = yes
}

// Total returns the number of connections that were accepted and not refused.
func (p *Proxy) Total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total
}

func (p *Proxy) each(do func(*link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		do(l)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // The listener was closed.
		}
		p.running.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

// serve forwards one connection until either end, or the proxy, ends it.
func (p *Proxy) serve(client *net.TCPConn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client)
		return
	}
	l := &link{client: client, server: server.(*net.TCPConn), done: make(chan struct{})}
	if !p.add(l) {
		l.reset()
		return
	}
	var ways sync.WaitGroup
	ways.Go(func() { p.forward(l, l.client, l.server) })
	ways.Go(func() { p.forward(l, l.server, l.client) })
	ways.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuses {
		return false
	}
	p.links[l] = struct{}{}
	p.total++
	return true
}

// forward copies one way, and ends the connection when that way has ended.
func (p *Proxy) forward(l *link, from, to *net.TCPConn) {
	defer l.end()
	buffer := make([]byte, chunk)
	for {
		slow, size := p.slice()
		n, err := from.Read(buffer[:size])
		if n > 0 && (!l.pass() || slow && !l.wait(sliceTime)) {
			return
		}
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// slice says how much may be forwarded at once.
func (p *Proxy) slice() (slow bool, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rate == 0 {
		return false, chunk
	}
	return true, min(chunk, max(1, p.rate*int(sliceTime/time.Millisecond)/1000))
}

// link is one connection and the one behind it.
type link struct {
	client, server *net.TCPConn
	done           chan struct{} // closed when the link has ended

	mu    sync.Mutex
	held  chan struct{} // closed when it goes on; nil: it does not stand
	ended bool
}

// pass waits while the link is stalled, and says whether it is still there.
func (l *link) pass() bool {
	l.mu.Lock()
	held := l.held
	l.mu.Unlock()
	if held == nil {
		return true
	}
	select {
	case <-held:
		return true
	case <-l.done:
		return false
	}
}

// wait waits for d, and says whether the link is still there.
func (l *link) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

func (l *link) stall() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = make(chan struct{})
	}
}

func (l *link) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		close(l.held)
		l.held = nil
	}
}

func (l *link) reset() { l.finish(reset) }

func (l *link) end() {
	l.finish(func(c *net.TCPConn) { _ = c.Close() }) // The other way may have closed it.
}

func (l *link) finish(how func(*net.TCPConn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	close(l.done)
	how(l.client)
	how(l.server)
}

// reset closes a connection with RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // Where it fails, the connection has gone already.
	_ = c.Close()
}
