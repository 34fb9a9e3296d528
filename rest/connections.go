// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// What a connection of our own keeps to, in time and bytes.
const (
	dialTimeout       = 30 * time.Second
	handshakeTimeout  = 10 * time.Second
	pingAfter         = 30 * time.Second // of silence on a connection of HTTP/2
	pingTimeout       = 15 * time.Second // then it is dead
	maxResponseHeader = 1 << 20
)

// ownTransports makes the transports where the client is our own: one for as long as the
// certificates stay the same, for the server checks those of a connection only when it
// begins, and those of a request not at all or against their end.
type ownTransports struct {
	config Config

	mu    sync.Mutex
	now   *http.Transport // to the server
	of    certificates    // what now was made with
	other *http.Transport // to any other host; nil: not needed yet
	caOf  string          // what other was made with
	cause error           // why the files cannot be used that are there now
}

// certificates is what a connection is made with, in PEM.
type certificates struct{ ca, certificate, key string }

// newOwnTransports reads the files, so that a wrong path is found at once.
func newOwnTransports(config Config) (*ownTransports, error) {
	o := &ownTransports{config: config}
	if _, err := o.host(context.Background(), credential{}); err != nil {
		return nil, err
	}
	return o, nil
}

// host implements transports. Files that cannot be used do no harm while what they held
// before can be.
func (o *ownTransports) host(ctx context.Context, c credential) (http.RoundTripper, error) {
	read, err := readCertificates(o.config, c)
	o.mu.Lock()
	old, before := o.now, o.cause
	err = o.takeLocked(read, err)
	now := o.now
	o.mu.Unlock()
	if old != nil && now != old {
		old.CloseIdleConnections() // streams end by themselves
	}
	if err == nil {
		return now, nil
	}
	if now == nil {
		return nil, err
	}
	if before == nil {
		klog.FromContext(ctx).Error(err, "Certificates cannot be used, going on with the last ones")
	}
	return now, nil
}

// takeLocked makes a new transport where the certificates are not those of the present one.
func (o *ownTransports) takeLocked(read certificates, err error) error {
	var made *http.Transport
	if err == nil && (o.now == nil || read != o.of) {
		made, err = newTransport(o.config, read)
	}
	o.cause = err
	if made != nil {
		o.now, o.of = made, read
	}
	return err
}

// stranger implements transports.
func (o *ownTransports) stranger() (http.RoundTripper, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.other != nil && o.caOf == o.of.ca {
		return o.other, nil
	}
	made, err := newStrangeTransport(o.config, o.of.ca)
	if err != nil {
		return nil, err
	}
	if o.other != nil {
		o.other.CloseIdleConnections()
	}
	o.other, o.caOf = made, o.of.ca
	return made, nil
}

// fault implements transports.
func (o *ownTransports) fault() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cause
}

// CloseIdleConnections implements transports.
func (o *ownTransports) CloseIdleConnections() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, transport := range []*http.Transport{o.now, o.other} {
		if transport != nil {
			transport.CloseIdleConnections()
		}
	}
}

// readCertificates takes them from where the configuration says; the client's own from the
// credential, if it has one.
func readCertificates(config Config, c credential) (out certificates, err error) {
	out = certificates{ca: string(config.CAData), certificate: string(config.CertData), key: string(config.KeyData)}
	if config.CAFile != "" {
		ca, err := os.ReadFile(config.CAFile)
		if err != nil {
			return out, fmt.Errorf("CA file: %w", err)
		}
		out.ca = string(ca)
	}
	if c.certificate != "" {
		out.certificate, out.key = c.certificate, c.key
		return out, nil
	}
	if config.CertFile == "" {
		return out, nil
	}
	certificate, err := os.ReadFile(config.CertFile)
	if err != nil {
		return out, fmt.Errorf("client certificate %s: %w", config.CertFile, err)
	}
	key, err := os.ReadFile(config.KeyFile)
	if err != nil {
		return out, fmt.Errorf("key of client certificate %s: %w", config.CertFile, err)
	}
	out.certificate, out.key = string(certificate), string(key)
	return out, nil
}

// newTransport makes the transport to the server. Nothing in it limits how long a request
// takes, which is for ListTimeout and, in a watch, for the server to say; what is limited
// is the time until a connection stands or is known to be dead.
func newTransport(config Config, with certificates) (*http.Transport, error) {
	tlsConfig, err := newTLS(config, with)
	if err != nil {
		return nil, err
	}
	tlsConfig.ServerName = config.TLSServerName
	proxy, err := proxyOf(config)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	out := &http.Transport{
		Proxy:                  http.ProxyURL(proxy),
		DialContext:            dialer.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    handshakeTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		MaxResponseHeaderBytes: maxResponseHeader,
		ReadBufferSize:         readBuffer,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    4,
		DisableCompression:     true, // done here, for any client, and while it streams
	}
	if proxy != nil && proxy.Scheme == "https" {
		// Otherwise the proxy would be asked for the server's name, and be shown the
		// client's certificate.
		out.DialTLSContext = (&tls.Dialer{NetDialer: dialer, Config: proxyTLS(config, with)}).DialContext
	}
	return out, nil
}

// newStrangeTransport makes the transport to any other host, which learns nothing.
func newStrangeTransport(config Config, ca string) (*http.Transport, error) {
	out, err := newTransport(config, certificates{ca: ca})
	if err != nil {
		return nil, err
	}
	out.TLSClientConfig.ServerName = ""
	if config.ProxyURL == "" {
		out.Proxy, out.DialTLSContext = http.ProxyFromEnvironment, nil
	}
	return out, nil
}

// proxyOf is the proxy to the server, nil for none.
func proxyOf(config Config) (*url.URL, error) {
	if config.ProxyURL != "" {
		return parseProxy(config.ProxyURL)
	}
	base, err := parseBase(config.BaseURL)
	if err != nil {
		return nil, err
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: base})
	if err != nil {
		return nil, errors.New("the proxy of the environment is no URL") // which may hold a password
	}
	return proxy, nil
}

// proxyTLS is for connections to a proxy, which the system's certificates vouch for, or
// those of the server.
func proxyTLS(config Config, with certificates) *tls.Config {
	out := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: config.InsecureSkipTLSVerify}
	if with.ca == "" {
		return out
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM([]byte(with.ca))
	out.RootCAs = pool
	return out
}

// newTLS makes the TLS configuration.
func newTLS(config Config, with certificates) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: config.InsecureSkipTLSVerify}
	if with.ca != "" || config.CAFile != "" {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM([]byte(with.ca)) {
			return nil, fmt.Errorf("CA %s: no certificate in it", cmp.Or(config.CAFile, "from CAData"))
		}
	}
	if with.certificate == "" {
		return out, nil
	}
	pair, err := keyPair([]byte(with.certificate), []byte(with.key))
	if err != nil {
		return nil, fmt.Errorf("client certificate %s: %w", cmp.Or(config.CertFile, "from CertData"), err)
	}
	out.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	return out, nil
}

// keyPair reads a certificate and its key. Package tls says in its errors what is wrong,
// and names the types of other blocks of PEM that it found, which a file may make up.
func keyPair(certificate, key []byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	switch {
	case err == nil:
		return &pair, nil
	case !bytes.Contains(certificate, []byte("-----BEGIN CERTIFICATE-----")):
		return nil, errors.New("no certificate in it")
	case !bytes.Contains(key, []byte("PRIVATE KEY-----")):
		return nil, errors.New("no private key for it")
	}
	return nil, errors.New("certificate and key cannot be read, or are not of each other")
}
