// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/backoff"
	"github.com/informerkit/informer/rest"

	"k8s.io/klog/v2"
)

func statusBody(code int, reason, message string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, code, reason, message)
}

const (
	goodItem = `{"metadata":{"namespace":"ns","name":"a","uid":"u1","resourceVersion":"5"}}`
	jsonType = "application/json"
)

// good answers a list of one item, and watches with silence.
func good(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "" {
		w.Header().Set("Content-Type", jsonType)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	answer(http.StatusOK, jsonType, list(goodItem))(w, r)
}

// What is wrong reaches the wait, the status and the hook, names source and operation,
// and is over as soon as the server is well.
func TestMirrorOfABadServer(t *testing.T) {
	for name, bad := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"401":                   {answer(401, jsonType, statusBody(401, "Unauthorized", "Unauthorized")), "Unauthorized"},
		"403":                   {answer(403, jsonType, statusBody(403, "Forbidden", "secrets is forbidden")), "secrets is forbidden"},
		"404":                   {answer(404, "text/plain", "404 page not found"), "could not find"},
		"HTML from a proxy":     {answer(502, "text/html", "<html>Bad Gateway</html>"), "text/html"},
		"HTML with 200":         {answer(200, "text/html", "<html>Please log in</html>"), "text/html"},
		"a single object":       {answer(200, jsonType, `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}`), "not a list"},
		"a Table":               {answer(200, jsonType, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`), "Table"},
		"a Status":              {answer(200, jsonType, `{"kind":"Status","apiVersion":"v1","status":"Success"}`), "Status"},
		"truncated JSON":        {answer(200, jsonType, list(goodItem)[:90]), "list secrets"},
		"malformed JSON":        {answer(200, jsonType, `{"kind":"SecretList","items":[}`), "list secrets"},
		"item without metadata": {answer(200, jsonType, list(goodItem+`,{"data":{}}`)), "metadata"},
		"item that is too large": {answer(200, jsonType, list(strings.Replace(goodItem, `"u1"`, `"`+strings.Repeat("u", 2000)+`"`, 1))),
			"larger than"},
		"item that does not decode": {answer(200, jsonType, list(strings.Replace(goodItem, `"metadata"`, `"count":"`+marker+`","metadata"`, 1))), `"ns/a"`},
	} {
		t.Run(name, func(t *testing.T) {
			var healed atomic.Bool
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if healed.Load() {
					good(w, r)
					return
				}
				bad.handler(w, r)
			})
			m := newMirror(t, rest.Config{BaseURL: server.URL, MaxItemSize: 1000})
			m.wantFailure(t, bad.want)
			healed.Store(true)
			if name != "item that does not decode" { // not asked for again within 5 minutes
				m.wantWell(t)
			}
		})
	}
}

// Nobody listens at first, and then somebody does.
func TestMirrorOfNoServer(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(good))
	address := server.Listener.Addr().String()
	_ = server.Listener.Close()
	m := newMirror(t, rest.Config{BaseURL: "http://" + address})
	m.wantFailure(t, "connection refused")
}

func TestMirrorWithTheWrongCA(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(good))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	other, _ := keyPair(t, t.TempDir(), "other")
	m := newMirror(t, rest.Config{BaseURL: server.URL, CAFile: other})
	m.wantFailure(t, "certificate")
	right := newMirror(t, rest.Config{BaseURL: server.URL, CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})})
	right.wantWell(t)
}

// A token file that is not there yet.
func TestMirrorWhoseTokenReturns(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret-token" {
			answer(401, jsonType, statusBody(401, "Unauthorized", "Unauthorized"))(w, r)
			return
		}
		good(w, r)
	})
	file := filepath.Join(t.TempDir(), "token")
	m := newMirror(t, rest.Config{BaseURL: server.URL, BearerTokenFile: file})
	m.wantFailure(t, file)
	if err := os.WriteFile(file, []byte("secret-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.wantWell(t)
}

// What the mirror holds stays when its server goes bad.
func TestFailureKeepsTheStore(t *testing.T) {
	var bad atomic.Bool
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case bad.Load():
			answer(200, jsonType, list(goodItem)[:90])(w, r)
		case r.URL.Query().Get("watch") != "": // one event, and the end of history
			bad.Store(true)
			answer(200, jsonType, `{"type":"ERROR","object":`+statusBody(410, "Expired", "too old")+"}\n")(w, r)
		default:
			good(w, r)
		}
	})
	m := newMirror(t, rest.Config{BaseURL: server.URL})
	m.wantWell(t)
	for range 3 {
		<-m.failed
	}
	if m.Store().Len() != 1 || m.Store().ResourceVersion() != "1" {
		t.Errorf("the store holds %d objects at %s", m.Store().Len(), m.Store().ResourceVersion())
	}
}

// mirror is an informer over a server.
type mirror struct {
	*informer.Informer[*Secret]
	failed chan error
}

func newMirror(t *testing.T, config rest.Config) *mirror {
	t.Helper()
	client, err := rest.New[*Secret](config, secrets(""))
	if err != nil {
		t.Fatal(err)
	}
	m := &mirror{failed: make(chan error)}
	options := informer.Options[*Secret]{}
	options.Name = "secrets"
	options.InitialEventsTimeout = -1
	options.Backoff = backoff.Options{Initial: time.Millisecond, Max: 10 * time.Millisecond}
	options.OnError = func(ctx context.Context, err error) {
		select {
		case m.failed <- err:
		case <-ctx.Done():
		}
	}
	m.Informer = informer.New(client, options)
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{}))
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return m
}

// wantFailure waits for the first failure, and looks for it everywhere.
func (m *mirror) wantFailure(t *testing.T, want string) {
	t.Helper()
	told := <-m.failed
	ended := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ended)
	err := m.WaitForSync(ctx)
	var wait *informer.WaitError
	if !errors.As(err, &wait) || !errors.Is(err, ended) || wait.Last == nil {
		t.Fatalf("WaitForSync: %v", err)
	}
	for where, text := range map[string]string{
		"hook": told.Error(), "wait": err.Error(), "status": m.Status().Sources[0].LastError,
	} {
		if !strings.Contains(text, want) || !strings.Contains(text, "list secrets") {
			t.Errorf("%s: %q does not say %q of \"list secrets\"", where, text, want)
		}
		if strings.Contains(text, "zebra") {
			t.Errorf("%s: content in %q", where, text)
		}
	}
}

// wantWell waits for the sync, past the failures that are still under way.
func (m *mirror) wantWell(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // a fail-safe
	defer cancel()
	go func() {
		for {
			select {
			case <-m.failed:
			case <-ctx.Done():
				return
			case <-m.Synced():
				return
			}
		}
	}()
	if err := m.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Store().Get("ns/a"); !ok || m.Store().Len() != 1 {
		t.Errorf("the store holds %q", m.Store().Keys())
	}
}
