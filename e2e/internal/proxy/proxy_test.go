// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
)

// echo starts a server that sends back what it gets, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn) // It ends as the test says.
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func dial(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// exchange sends and expects the same back.
func exchange(t *testing.T, conn net.Conn, content []byte) {
	t.Helper()
	send(t, conn, content)
	expect(t, conn, content)
}

func send(t *testing.T, conn net.Conn, content []byte) {
	t.Helper()
	if _, err := conn.Write(content); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, conn net.Conn, content []byte) {
	t.Helper()
	got := make([]byte, len(content))
	if _, err := io.ReadFull(conn, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, content) {
		t.Error("something else came back")
	}
}

func TestForwards(t *testing.T) {
	p := New(t, echo(t))
	content := make([]byte, 3*chunk+1)
	_, _ = rand.Read(content) // It never fails.
	for _, rate := range []int{0, 1 << 20} {
		p.Throttle(rate)
		exchange(t, dial(t, p), content)
	}
	if p.Total() != 2 {
		t.Errorf("%d connections; want 2", p.Total())
	}
}

func TestEnds(t *testing.T) {
	p := New(t, echo(t))
	for name, row := range map[string]struct {
		end  func()
		want error
	}{
		"cut":   {p.Cut, syscall.ECONNRESET},
		"close": {p.Close, io.EOF},
	} {
		conn := dial(t, p)
		exchange(t, conn, []byte(name))
		row.end()
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, row.want) {
			t.Errorf("%s: %v; want %v", name, err, row.want)
		}
	}
	p.Refuse(true)
	conn, err := net.Dial("tcp", p.Addr)
	if err == nil { // the reset may have come before the connection was seen to be made
		defer func() { _ = conn.Close() }() // It is reset.
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("refused: %v; want %v", err, syscall.ECONNRESET)
	}
	p.Refuse(false)
	exchange(t, dial(t, p), []byte("again"))
}

// TestStall: a connection that stands neither forwards nor ends, others go on, and nothing is lost.
func TestStall(t *testing.T) {
	p := New(t, echo(t))
	held := dial(t, p)
	exchange(t, held, []byte("before"))
	p.Stall()
	send(t, held, []byte("meanwhile"))
	got := make(chan []byte)
	go func() {
		buffer := make([]byte, len("meanwhile"))
		_, _ = io.ReadFull(held, buffer) // Shown by what it has read.
		got <- buffer
	}()
	for range 10 {
		exchange(t, dial(t, p), []byte("others"))
	}
	select {
	case <-got:
		t.Error("a stalled connection has forwarded")
	default:
	}
	p.Resume()
	if content := <-got; string(content) != "meanwhile" {
		t.Errorf("got %q after the stall", content)
	}
}
