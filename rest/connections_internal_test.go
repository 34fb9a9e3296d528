// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pipes is a network of one server, on fake time. Once it is dead it takes everything and
// delivers nothing, as a firewall does that has forgotten a connection.
type pipes struct {
	conns chan net.Conn
	dead  atomic.Bool
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.conns <- &mortal{Conn: there, dead: &p.dead}
	return &mortal{Conn: here, dead: &p.dead}, nil
}

func (p *pipes) Accept() (net.Conn, error) {
	conn, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }
func (p *pipes) Close() error   { return nil }

type mortal struct {
	net.Conn
	dead *atomic.Bool
}

func (m *mortal) Write(b []byte) (int, error) {
	if m.dead.Load() {
		return len(b), nil
	}
	return m.Conn.Write(b)
}

// A connection of HTTP/2 that is dead is found out by our own client, watches included,
// which no timeout ends.
func TestDeadConnectionIsFound(t *testing.T) {
	t.Run("fake time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			network := &pipes{conns: make(chan net.Conn, 1)}
			server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_ = http.NewResponseController(w).Flush()
				<-req.Context().Done()
			})}
			certificate := httptest.NewUnstartedServer(nil)
			certificate.StartTLS()
			server.TLSConfig = &tls.Config{Certificates: certificate.TLS.Certificates}
			certificate.Close()
			ended := make(chan error, 1)
			go func() { ended <- server.ServeTLS(network, "", "") }()

			client, err := New[*metav1.PartialObjectMetadata](Config{BaseURL: "https://server", InsecureSkipTLSVerify: true}, Resource{Version: "v1", Resource: "pods"})
			if err != nil {
				t.Fatal(err)
			}
			own := client.endpoint.auth.transports.(*ownTransports)
			own.now.DialContext, own.now.Proxy = network.dial, nil
			w, err := client.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute) // a quiet connection is no dead one
			select {
			case event, ok := <-w.ResultChan():
				t.Fatalf("%v, %t", event, ok)
			default:
			}
			began := time.Now()
			network.dead.Store(true)
			for range w.ResultChan() {
			}
			if took := time.Since(began); took > pingAfter+pingTimeout {
				t.Errorf("found after %v", took)
			}
			close(network.conns)
			_ = server.Close()
			if err := <-ended; !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
			own.CloseIdleConnections()
		})
	})
}

// Without files nothing is read, and the transport stays.
func TestTransportStays(t *testing.T) {
	own, err := newOwnTransports(Config{BaseURL: "https://server"})
	if err != nil {
		t.Fatal(err)
	}
	first, err := own.host(t.Context(), credential{})
	if err != nil {
		t.Fatal(err)
	}
	if next, err := own.host(t.Context(), credential{header: "another"}); next != first || err != nil {
		t.Error("another transport without a reason", err)
	}
	other, err := own.stranger()
	if again, _ := own.stranger(); err != nil || other == first || again != other {
		t.Error("the transport to others", err)
	}
	if (givenTransport{http.DefaultTransport}).fault() != nil || !strings.HasPrefix(bearer("x").header, "Bearer ") {
		t.Error("what never fails")
	}
}
