// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// quiet is for servers that complain of their client.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// Nothing that proves who asks, and nothing that says whom to act as, reaches another host.
func TestNothingToAnotherHost(t *testing.T) {
	var there recorder
	names := make(chan int, 1)
	other := httptest.NewUnstartedServer(there.record(func(w http.ResponseWriter, req *http.Request) {
		names <- len(req.TLS.PeerCertificates)
		answerJSON(typed)(w, req)
	}))
	other.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	other.StartTLS()
	defer other.Close()
	here := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if len(req.TLS.PeerCertificates) != 1 || req.Header.Get("Authorization") == "" || req.Header.Get("Impersonate-User") != "you" {
			t.Errorf("not sent where it belongs: %v", req.Header)
		}
		http.Redirect(w, req, other.URL+req.URL.Path, http.StatusFound)
	}))
	here.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	here.StartTLS()
	defer here.Close()
	certFile, keyFile := keyPair(t, t.TempDir(), "me")
	for name, config := range map[string]rest.Config{
		"token":    {BearerToken: "secret"},
		"password": {Username: "me", Password: "secret"},
	} {
		config.BaseURL, config.InsecureSkipTLSVerify = here.URL, true
		config.CertFile, config.KeyFile = certFile, keyFile
		config.Impersonate = rest.Impersonation{User: "you"}
		if _, _, err := collect(t.Context(), newClient[*Secret](t, config)); err != nil {
			t.Fatal(err)
		}
		if n := <-names; n != 0 {
			t.Errorf("%s: %d certificates to another host", name, n)
		}
		for _, req := range there.all() {
			if req.Header.Get("Authorization") != "" || req.Header.Get("Impersonate-User") != "" {
				t.Errorf("%s: to another host: %v", name, req.Header)
			}
		}
	}
}

// A server without a certificate to trust is not talked to, unless the configuration says
// so by a name that cannot be overlooked.
func TestTLSIsVerified(t *testing.T) {
	server := httptest.NewUnstartedServer(answerJSON(typed))
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	defer server.Close()
	var untrusted *tls.CertificateVerificationError
	for name, config := range map[string]rest.Config{
		"nothing said":   {},
		"another name":   {CAData: certificateOf(server), TLSServerName: "elsewhere.test"},
		"another CA":     {CAFile: func() string { file, _ := keyPair(t, t.TempDir(), "ca"); return file }()},
		"the right name": {CAData: certificateOf(server), TLSServerName: "example.com"},
	} {
		config.BaseURL = server.URL
		_, _, err := collect(t.Context(), newClient[*Secret](t, config))
		if good := name == "the right name"; good != (err == nil) || !good && !errors.As(err, &untrusted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// New certificates to trust are taken from the file without a restart; until they can be
// used, the old ones are, and errors say why.
func TestCARotates(t *testing.T) {
	token := "one"
	server := httptest.NewTLSServer(guarded(&token, answerJSON(typed)))
	defer server.Close()
	server.Config.ErrorLog = quiet()
	dir := t.TempDir()
	stranger, _ := keyPair(t, t.TempDir(), "stranger")
	file := writeFile(t, dir, "ca", read(t, stranger))
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, CAFile: file, BearerToken: "one"})
	try := func() error {
		_, _, err := collect(t.Context(), client)
		wantDiscreet(t, err)
		return err
	}
	if err := try(); err == nil {
		t.Error("a stranger is trusted")
	}
	writeFile(t, dir, "ca", string(certificateOf(server)))
	if err := try(); err != nil {
		t.Error(err)
	}
	writeFile(t, dir, "ca", marker)
	if err := try(); err != nil {
		t.Errorf("while the file is being written: %v", err)
	}
	token = "two"
	if err := try(); !apierrors.IsUnauthorized(err) || !strings.Contains(err.Error(), file+": no certificate in it") {
		t.Errorf("does not say what may be the reason: %v", err)
	}
	token = "one"
	writeFile(t, dir, "ca", read(t, stranger))
	if err := try(); err == nil {
		t.Error("what was taken out of the file is trusted on a new connection")
	}
}

// A connection that stands is not used with an old certificate.
func TestClientCertificateOfOldConnection(t *testing.T) {
	names := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		names <- req.Proto + " " + req.TLS.PeerCertificates[0].Subject.CommonName
		answerJSON(typed)(w, req)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	certFile, keyFile := keyPair(t, dir, "first")
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, InsecureSkipTLSVerify: true, CertFile: certFile, KeyFile: keyFile})
	for _, want := range []string{"first", "first", "second", "broken"} {
		switch want {
		case "second":
			keyPair(t, dir, want)
		case "broken":
			writeFile(t, dir, "tls.key", marker)
			want = "second"
		}
		if _, _, err := collect(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		if got := <-names; got != "HTTP/2.0 "+want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The proxy of the environment is read once a process, so it takes one of its own.
func TestProxies(t *testing.T) {
	var asked recorder
	proxy := serve(t, asked.record(answerJSON(typed)))
	const target = "http://kubernetes.invalid:8080"
	if os.Getenv("REST_TEST_PROXIED") != "" {
		if _, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: target})); err != nil {
			t.Error(err)
		}
		return
	}
	config := rest.Config{BaseURL: target, ProxyURL: proxy.URL}
	if _, _, err := collect(t.Context(), newClient[*Secret](t, config)); err != nil {
		t.Errorf("named: %v", err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxies$")
	child.Env = append(os.Environ(), "REST_TEST_PROXIED=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("of the environment: %v\n%s", err, out)
	}
	child = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxies$")
	child.Env = append(os.Environ(), "REST_TEST_PROXIED=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=.invalid")
	if out, err := child.CombinedOutput(); err == nil {
		t.Errorf("NO_PROXY is ignored\n%s", out)
	}
	if n := len(asked.all()); n != 2 {
		t.Fatalf("%d requests, want 2", n)
	}
	for _, req := range asked.all() {
		if req.Host != "kubernetes.invalid:8080" {
			t.Error(req.Host)
		}
	}
	for _, bad := range []string{"ftp://" + marker, "http://" + marker + "\x7f", "http://", marker} {
		_, err := rest.New[*Secret](rest.Config{BaseURL: target, ProxyURL: bad}, secrets(""))
		if err == nil || !strings.Contains(err.Error(), "ProxyURL") {
			t.Errorf("%q: %v", bad, err)
		}
		wantDiscreet(t, err)
	}
}

// A proxy by https has a name of its own, and does not get the certificate of the client.
func TestProxyOverTLS(t *testing.T) {
	certFile, keyFile := keyPair(t, t.TempDir(), "me")
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if len(req.TLS.PeerCertificates) != 1 || req.Header.Get("Authorization") == "" {
			t.Error("not sent to the server itself")
		}
		answerJSON(typed)(w, req)
	}))
	target.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	target.StartTLS()
	defer target.Close()
	tunnels := 0
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		tunnels++
		if req.Method != http.MethodConnect || len(req.TLS.PeerCertificates) > 0 || req.TLS.ServerName != "localhost" || req.Header.Get("Authorization") != "" {
			t.Errorf("%s, %d certificates, for %q: %v", req.Method, len(req.TLS.PeerCertificates), req.TLS.ServerName, req.Header)
		}
		tunnel(t, w, target.Listener.Addr().String())
	}))
	proxy.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	proxy.Config.ErrorLog = quiet()
	proxy.StartTLS()
	defer proxy.Close()
	config := rest.Config{
		BaseURL: "https://kubernetes.invalid", TLSServerName: "example.com", CAData: certificateOf(target), BearerToken: "secret",
		CertFile: certFile, KeyFile: keyFile,
		ProxyURL: "https://localhost:" + strings.Split(proxy.Listener.Addr().String(), ":")[1],
	}
	_, _, err := collect(t.Context(), newClient[*Secret](t, config))
	var untrusted *tls.CertificateVerificationError
	if !errors.As(err, &untrusted) {
		t.Errorf("the proxy's certificate is of another name: %v", err)
	}
	config.InsecureSkipTLSVerify, config.CAData = true, nil
	if _, _, err := collect(t.Context(), newClient[*Secret](t, config)); err != nil || tunnels != 1 {
		t.Errorf("%d tunnels: %v", tunnels, err)
	}
}

// tunnel joins a request to a server.
func tunnel(t *testing.T, w http.ResponseWriter, address string) {
	there, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	w.WriteHeader(http.StatusOK)
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	go func() {
		_, _ = io.Copy(there, buffered)
		_ = there.Close()
	}()
	go func() {
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}()
}

func TestUserAgent(t *testing.T) {
	var asked recorder
	server := serve(t, asked.record(answerJSON(typed)))
	ours := filepath.Base(os.Args[0]) + " (" + goruntime.GOOS + "/" + goruntime.GOARCH + ") informer"
	for given, want := range map[string]string{"mine/1.0": "mine/1.0", "": ours} {
		client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, UserAgent: given})
		if _, _, err := collect(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		got := asked.all()[len(asked.all())-1].Header.Get("User-Agent")
		if got != want {
			t.Errorf("%q: %q", given, got)
		}
	}
	if _, err := rest.New[*Secret](rest.Config{BaseURL: server.URL, UserAgent: marker + "\n"}, secrets("")); err == nil {
		t.Error("a line break is accepted")
	} else {
		wantDiscreet(t, err)
	}
}

func TestHeadersAreLimited(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			for i := range 40 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat(marker, 3000))
			}
			answerJSON(typed)(w, req)
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL, InsecureSkipTLSVerify: true}))
		server.Close()
		var netError net.Error
		if err == nil || !errors.As(err, &netError) || !strings.HasPrefix(err.Error(), "list "+server.URL) {
			t.Errorf("%s: %v", name, err)
		}
		wantDiscreet(t, err)
	}
}

func TestRetryAfterPasses(t *testing.T) {
	for _, body := range []string{"", `{"kind":"Status","status":"Failure","code":429,"reason":"TooManyRequests"}`} {
		server := serve(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Retry-After", "17")
			answer(429, "application/json", body)(w, req)
		})
		client := newClient[*Secret](t, rest.Config{BaseURL: server.URL})
		_, _, err := collect(t.Context(), client)
		_, watchErr := client.Watch(t.Context(), metav1.ListOptions{})
		_, discoverErr := rest.Discover(t.Context(), rest.Config{BaseURL: server.URL})
		for _, err := range []error{err, watchErr, discoverErr} {
			if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds != 17 {
				t.Errorf("%d, %t: %v", seconds, ok, err)
			}
		}
	}
}

// bomb is a list of small items that is much smaller as it travels.
func bomb(items int) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(`{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}}`))
	_, _ = w.Write([]byte(strings.Repeat(`,{"metadata":{"name":"`+marker+`"}}`, items)))
	_, _ = w.Write([]byte(`]}`))
	_ = w.Close()
	return b.Bytes()
}

// What a compressed answer becomes is limited in all, and each of its items is.
func TestDecompressionIsBounded(t *testing.T) {
	var big bytes.Buffer
	w := gzip.NewWriter(&big)
	_, _ = w.Write([]byte(list(`{"metadata":{"name":"a"},"data":{"x":"` + strings.Repeat("A", 4<<20) + `"}}`)))
	_ = w.Close()
	for name, row := range map[string]struct {
		body   []byte
		config rest.Config
		want   error
	}{
		"one item":   {big.Bytes(), rest.Config{MaxItemSize: 1 << 20}, rest.ErrItemTooLarge},
		"many items": {bomb(30_000), rest.Config{MaxListSize: 1 << 20}, rest.ErrListTooLarge},
		"few enough": {bomb(10_000), rest.Config{MaxListSize: 1 << 20}, nil},
	} {
		if len(row.body) > 50_000 {
			t.Fatalf("%s: %d bytes is no bomb", name, len(row.body))
		}
		server := serve(t, compressed(string(row.body)))
		row.config.BaseURL = server.URL
		_, _, err := collect(t.Context(), newClient[*Secret](t, row.config))
		if !errors.Is(err, row.want) || err != nil && !strings.HasPrefix(err.Error(), "list "+server.URL) {
			t.Errorf("%s: %v", name, err)
		}
		wantDiscreet(t, err)
	}
	exact := list(`{"metadata":{"name":"a"}}`)
	for size, want := range map[int]error{len(exact): nil, len(exact) - 1: rest.ErrListTooLarge} {
		server := serve(t, answerJSON(exact))
		_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL, MaxListSize: int64(size)}))
		if !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(500)
		_, _ = w.Write(bomb(30_000))
	})
	_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
	if !apierrors.IsInternalError(err) {
		t.Error(err)
	}
	wantDiscreet(t, err)
}

// slow is a transport on fake time: the answer comes after a while, and so does each part.
type slow struct {
	first, each time.Duration
	parts       []string
}

func (s slow) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := wait(req.Context(), s.first); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: &slowBody{slow: slow{each: s.each, parts: slices.Clone(s.parts)}, ctx: req.Context()}}, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type slowBody struct {
	slow
	ctx context.Context
}

func (b *slowBody) Read(p []byte) (int, error) {
	if err := wait(b.ctx, b.each); err != nil {
		return 0, err
	}
	if len(b.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.parts[0])
	if b.parts[0] = b.parts[0][n:]; b.parts[0] == "" {
		b.parts = b.parts[1:]
	}
	return n, nil
}

func (b *slowBody) Close() error { return nil }

func TestListTimeout(t *testing.T) {
	items := strings.Split(strings.Repeat(`{"metadata":{"name":"a"}},`, 9)+`{"metadata":{"name":"a"}}`, ",")
	parts := []string{`{"kind":"SecretList","metadata":{},"items":[`}
	for i, item := range items {
		parts = append(parts, item, map[bool]string{true: ",", false: "]}"}[i < len(items)-1])
	}
	const minute = time.Minute
	for name, row := range map[string]struct {
		server  slow
		timeout time.Duration
		reader  time.Duration // that the reader takes for each item
		after   time.Duration // 0: it succeeds
	}{
		"silent":             {slow{first: time.Hour}, 0, 0, 2 * minute},
		"silent, own limit":  {slow{first: time.Hour}, time.Second, 0, time.Second},
		"silent in the body": {slow{each: time.Hour, parts: parts}, 0, 0, 2 * minute},
		"slow in all":        {slow{first: 20 * time.Second, each: 5 * time.Second, parts: parts}, 0, 0, 2 * minute},
		"no limit":           {slow{first: time.Hour, each: time.Hour, parts: parts}, -1, 0, 0},
		"slow reader":        {slow{first: 20 * time.Second, each: 4 * time.Second, parts: parts}, 0, minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newClient[*Secret](t, rest.Config{BaseURL: "http://server", HTTPClient: &http.Client{Transport: row.server}, ListTimeout: row.timeout})
				began, read := time.Now(), 0
				_, err := client.ListStream(t.Context(), metav1.ListOptions{}, nil, func(runtime.Object) error {
					time.Sleep(row.reader)
					read++
					return nil
				})
				took := time.Since(began)
				if row.after == 0 {
					if err != nil || read != len(items) {
						t.Errorf("%d items: %v", read, err)
					}
					return
				}
				var netError net.Error
				if !errors.Is(err, rest.ErrListTimeout) || !errors.As(err, &netError) || !netError.Timeout() || took != row.after {
					t.Errorf("after %v: %v", took, err)
				}
			})
		})
	}
}
