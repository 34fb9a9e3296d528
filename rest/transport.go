// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// newHTTPClient makes the client of a Config whose defaults are applied: the given one or
// one of its own, with the bearer token added to what goes to the server itself.
func newHTTPClient(config Config, base *url.URL, tokens *tokens) (*http.Client, error) {
	var client http.Client
	if config.HTTPClient != nil {
		client = *config.HTTPClient // a copy: the caller's stays as it is
	} else {
		transport, err := newTransport(config)
		if err != nil {
			return nil, err
		}
		client.Transport = transport
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	if tokens.fixed != "" || tokens.file != "" {
		client.Transport = &authorizer{next: client.Transport, tokens: tokens, origin: origin(base)}
	}
	return &client, nil
}

// newTransport makes the transport where the client is our own. Nothing limits how long a
// request takes, which is for ctx and, in a watch, for the server to say; what is limited
// is the time until a connection stands or is known to be dead.
func newTransport(config Config) (*http.Transport, error) {
	tlsConfig, err := newTLS(config)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxResponseHeaderBytes: 1 << 20,
		ReadBufferSize:         readBuffer,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    4,
		DisableCompression:     true, // done here, for any client, and while it streams
	}, nil
}

// newTLS makes the TLS configuration. The files are read once here even where they are
// read again later, so that a wrong path is found at once.
func newTLS(config Config) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: config.InsecureSkipTLSVerify}
	pem := config.CAData
	if config.CAFile != "" {
		if len(pem) > 0 {
			return nil, errors.New("CAFile and CAData exclude each other")
		}
		var err error
		if pem, err = os.ReadFile(config.CAFile); err != nil {
			return nil, fmt.Errorf("CA file: %w", err)
		}
	}
	if len(pem) > 0 || config.CAFile != "" {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA %s: no certificate in it", config.CAFile)
		}
	}
	if config.CertFile == "" {
		return out, nil
	}
	load := func() (*tls.Certificate, error) {
		certificate, err := tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s: %w", config.CertFile, err)
		}
		return &certificate, nil
	}
	if _, err := load(); err != nil {
		return nil, err
	}
	out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() }
	return out, nil
}

// authorizer adds the bearer token to requests to the server itself. net/http keeps a
// header that was set on the request when a redirect leads to another port or to a
// subdomain of the same host; what is added here is decided for each request anew.
type authorizer struct {
	next   http.RoundTripper
	tokens *tokens
	origin string
}

// RoundTrip implements http.RoundTripper.
func (a *authorizer) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != a.origin {
		return a.next.RoundTrip(req)
	}
	token, err := a.tokens.current(req.Context())
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	return a.next.RoundTrip(req)
}

// CloseIdleConnections passes http.Client.CloseIdleConnections on.
func (a *authorizer) CloseIdleConnections() {
	if next, ok := a.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// origin is scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
