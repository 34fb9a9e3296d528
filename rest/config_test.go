// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConfigThatCannotBe(t *testing.T) {
	const base = "https://localhost"
	absent := filepath.Join(t.TempDir(), "absent")
	noPEM := filepath.Join(t.TempDir(), "nopem")
	if err := os.WriteFile(noPEM, []byte(marker), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]rest.Config{
		"BaseURL is required":                                    {},
		"BaseURL is not a URL":                                   {BaseURL: "http://" + marker + "\x7f"},
		"needs http:// or https://":                              {BaseURL: "localhost:6443"},
		"scheme, host and path":                                  {BaseURL: "https://user:" + marker + "@localhost"},
		"BearerToken and BearerTokenFile":                        {BaseURL: base, BearerToken: "a", BearerTokenFile: "b"},
		"characters that no token has":                           {BaseURL: base, BearerToken: marker + "\n"},
		"CertFile and KeyFile go together":                       {BaseURL: base, CertFile: "a"},
		"HTTPClient and the TLS fields":                          {BaseURL: base, HTTPClient: http.DefaultClient, InsecureSkipTLSVerify: true},
		"InsecureSkipTLSVerify and a CA":                         {BaseURL: base, CAFile: "a", InsecureSkipTLSVerify: true},
		"CAFile and CAData":                                      {BaseURL: base, CAFile: "a", CAData: []byte("b")},
		"MaxItemSize is negative":                                {BaseURL: base, MaxItemSize: -1},
		"CA file: open " + absent:                                {BaseURL: base, CAFile: absent},
		"CA " + noPEM + ": no certificate":                       {BaseURL: base, CAFile: noPEM},
		"CA from CAData: no certificate":                         {BaseURL: base, CAData: []byte(marker)},
		"client certificate " + absent + ": open":                {BaseURL: base, CertFile: absent, KeyFile: absent},
		"client certificate " + noPEM + ": no certificate in it": {BaseURL: base, CertFile: noPEM, KeyFile: noPEM},
	} {
		_, err := rest.New[*Secret](config, secrets(""))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		wantDiscreet(t, err)
	}
	for _, resource := range []rest.Resource{
		{}, {Version: "v1"}, {Resource: "pods"}, {Version: "v1", Resource: "pods/log"}, {Version: "..", Resource: "pods"},
		{Version: "v1", Resource: "pods", Namespace: "a/b"}, {Version: "v1", Resource: "pods", Namespace: "%2e"},
	} {
		if _, err := rest.New[*Secret](rest.Config{BaseURL: base}, resource); err == nil {
			t.Errorf("%+v: accepted", resource)
		}
	}
	if _, err := rest.New[informer.Object](rest.Config{BaseURL: base}, secrets("")); err == nil {
		t.Error("an interface: accepted")
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(answerJSON(typed))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]rest.Config{
		"CA data":  {CAData: ca},
		"CA file":  {CAFile: file},
		"insecure": {InsecureSkipTLSVerify: true},
		"client":   {HTTPClient: server.Client()},
	} {
		config.BaseURL = server.URL
		if _, _, err := collect(t.Context(), newClient[*Secret](t, config)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOwnClientSpeaksHTTP2(t *testing.T) {
	protocol := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		protocol <- req.Proto
		answerJSON(typed)(w, req)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	if _, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL, InsecureSkipTLSVerify: true})); err != nil {
		t.Fatal(err)
	}
	if got := <-protocol; got != "HTTP/2.0" {
		t.Error(got)
	}
}

// keyPair writes a self-signed certificate for a common name.
func keyPair(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	template.Subject.CommonName = name
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestClientCertificateRotates(t *testing.T) {
	names := make(chan string, 2)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		names <- req.TLS.PeerCertificates[0].Subject.CommonName
		w.Header().Set("Connection", "close") // the next request needs a new connection
		answerJSON(typed)(w, req)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	certFile, keyFile := keyPair(t, dir, "first")
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, InsecureSkipTLSVerify: true, CertFile: certFile, KeyFile: keyFile})
	for _, want := range []string{"first", "second"} {
		if want == "second" {
			keyPair(t, dir, want)
		}
		if _, _, err := collect(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		if got := <-names; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// guarded answers to one token.
func guarded(token *string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Authorization") != "Bearer "+*token {
			answer(401, "application/json", `{"kind":"Status","status":"Failure","reason":"Unauthorized","code":401}`)(w, req)
			return
		}
		next(w, req)
	}
}

func TestTokenFile(t *testing.T) {
	token := "one"
	server := serve(t, guarded(&token, answerJSON(typed)))
	file := filepath.Join(t.TempDir(), "token")
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, BearerTokenFile: file})
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	try := func() error {
		_, _, err := collect(t.Context(), client)
		wantDiscreet(t, err)
		return err
	}

	if err := try(); !os.IsNotExist(unwrapAll(err)) || !strings.Contains(err.Error(), file) || !strings.HasPrefix(err.Error(), "list "+server.URL) {
		t.Errorf("not there yet: %v", err)
	}
	write("one\n")
	if err := try(); err != nil {
		t.Errorf("there: %v", err)
	}
	token = "two"
	write("two")
	if err := try(); err != nil {
		t.Errorf("rotated: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := try(); err != nil {
		t.Errorf("vanished while its token is good: %v", err)
	}
	token = "three"
	if err := try(); !apierrors.IsUnauthorized(err) || !strings.Contains(err.Error(), file) {
		t.Errorf("vanished: %v", err)
	}
	write(" ")
	if err := try(); !apierrors.IsUnauthorized(err) || !strings.Contains(err.Error(), "empty") {
		t.Errorf("empty: %v", err)
	}
	write(marker + "\n" + marker)
	if err := try(); !apierrors.IsUnauthorized(err) || !strings.Contains(err.Error(), "holds no token") {
		t.Errorf("no token: %v", err)
	}
	write("three")
	if err := try(); err != nil {
		t.Errorf("returned: %v", err)
	}
	if _, err := client.Watch(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

func unwrapAll(err error) error {
	for {
		wrapped, ok := err.(interface{ Unwrap() error })
		if !ok {
			return err
		}
		err = wrapped.Unwrap()
	}
}

func TestNoTokenToAnotherHost(t *testing.T) {
	for name, client := range map[string]*http.Client{"own": nil, "given": {}} {
		t.Run(name, func(t *testing.T) {
			var there, here recorder
			other := serve(t, there.record(answerJSON(typed)))
			server := serve(t, here.record(func(w http.ResponseWriter, req *http.Request) {
				to := other.URL + req.URL.Path
				if req.URL.Query().Get("limit") == "" {
					to = "/moved?limit=1"
				}
				http.Redirect(w, req, to, http.StatusTemporaryRedirect)
			}))
			config := rest.Config{BaseURL: server.URL, BearerToken: "secret", HTTPClient: client}
			if _, _, err := collect(t.Context(), newClient[*Secret](t, config)); err != nil {
				t.Fatal(err)
			}
			for _, req := range here.all() {
				if req.Header.Get("Authorization") != "Bearer secret" {
					t.Errorf("%s: no token", req.URL)
				}
			}
			if len(here.all()) != 2 || len(there.all()) != 1 {
				t.Fatalf("%d requests here, %d there", len(here.all()), len(there.all()))
			}
			if got := there.all()[0].Header.Get("Authorization"); got != "" {
				t.Errorf("sent to another host: %q", got)
			}
			if client != nil && client.Transport != nil {
				t.Error("the given client was changed")
			}
		})
	}
}

func TestRefusedTokenIsNotQuoted(t *testing.T) {
	token := "a"
	server := serve(t, guarded(&token, answerJSON(added)))
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, BearerToken: marker})
	_, err := client.Watch(t.Context(), metav1.ListOptions{})
	if !apierrors.IsUnauthorized(err) {
		t.Error(err)
	}
	wantDiscreet(t, err)
}

func TestWhoThatCannotBe(t *testing.T) {
	plugin, err := rest.NewExecPlugin("x", rest.ExecPluginOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]rest.Config{
		"no colon":                          {Username: "a:" + marker},
		"Username and Exec exclude":         {Username: "a", BearerToken: marker},
		"a bearer token, Username and Exec": {Exec: plugin, BearerToken: marker},
		"value of Impersonate has control":  {Impersonate: rest.Impersonation{User: marker + "\n"}},
		"no User in Impersonate":            {Impersonate: rest.Impersonation{Groups: []string{marker}}},
		"CertData and KeyData go together":  {CertData: []byte(marker)},
		"CertFile and CertData exclude":     {CertFile: "a", KeyFile: "b", CertData: []byte(marker), KeyData: []byte(marker)},
		"HTTPClient and the TLS fields or":  {HTTPClient: http.DefaultClient, ProxyURL: "http://a"},
		"MaxListSize is negative":           {MaxListSize: -1},
	} {
		config.BaseURL = "https://localhost"
		_, err := rest.New[*Secret](config, secrets(""))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		wantDiscreet(t, err)
	}
}
