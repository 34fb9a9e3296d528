// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// newHTTPClient makes the client of a Config whose defaults are applied: the given one or
// one of its own, which proves to the server itself, and to no other, who asks.
func newHTTPClient(config Config, base *url.URL) (*http.Client, *authorizer, error) {
	auth := &authorizer{
		origin:      origin(base),
		credentials: newCredentials(config),
		impersonate: config.Impersonate.header(),
	}
	if config.HTTPClient == nil {
		own, err := newOwnTransports(config)
		if err != nil {
			return nil, nil, err
		}
		auth.transports = own
		return &http.Client{Transport: auth}, auth, nil
	}
	client := *config.HTTPClient // a copy: the caller's stays as it is
	given := givenTransport{client.Transport}
	if given.RoundTripper == nil {
		given.RoundTripper = http.DefaultTransport
	}
	auth.transports = given
	client.Transport = auth
	return &client, auth, nil
}

// transports is what requests go through.
type transports interface {
	// host is for requests to the server itself.
	host(ctx context.Context, c credential) (http.RoundTripper, error)
	// stranger is for requests to another host, which learns nothing of the credential.
	stranger() (http.RoundTripper, error)
	// fault is what is wrong with files that were good before; nil: nothing.
	fault() error
	CloseIdleConnections()
}

// authorizer adds to requests to the server itself what proves who asks. net/http keeps a
// header that was set on the request when a redirect leads to another port or to a
// subdomain of the same host; what is added here is decided for each request anew.
type authorizer struct {
	origin      string
	transports  transports
	credentials credentials
	impersonate http.Header
}

// RoundTrip implements http.RoundTripper. A request that is refused for a credential that
// has been replaced since is sent once more; none of the package has a body.
func (a *authorizer) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != a.origin {
		next, err := a.transports.stranger()
		if err != nil {
			return nil, ownError{err}
		}
		return next.RoundTrip(req)
	}
	resp, used, err := a.try(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !a.credentials.renew(req.Context(), used) {
		return resp, err
	}
	_ = resp.Body.Close()
	resp, _, err = a.try(req)
	return resp, err
}

// try sends a request with the credential of the moment.
func (a *authorizer) try(req *http.Request) (*http.Response, credential, error) {
	used, err := a.credentials.current(req.Context())
	if err != nil {
		return nil, used, ownError{err}
	}
	next, err := a.transports.host(req.Context(), used)
	if err != nil {
		return nil, used, ownError{err}
	}
	req = req.Clone(req.Context())
	if used.header != "" {
		req.Header.Set("Authorization", used.header)
	}
	for name, values := range a.impersonate {
		req.Header[name] = values
	}
	resp, err := next.RoundTrip(req)
	return resp, used, err
}

// CloseIdleConnections passes http.Client.CloseIdleConnections on.
func (a *authorizer) CloseIdleConnections() { a.transports.CloseIdleConnections() }

// header says whom to act as.
func (i Impersonation) header() http.Header {
	h := http.Header{}
	for name, values := range map[string][]string{"User": {i.User}, "Uid": {i.UID}, "Group": i.Groups} {
		if len(values) > 0 && values[0] != "" {
			h["Impersonate-"+name] = slices.Clone(values)
		}
	}
	for key, values := range i.Extra {
		h["Impersonate-Extra-"+escapeKey(key)] = slices.Clone(values)
	}
	return h
}

// escapeKey writes a key so that it can be part of the name of a header: what cannot be is
// percent-encoded, as the server's documentation asks for. Names of headers have no case.
func escapeKey(key string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(strings.ToLower(key)) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("!#$&'*+-.^_`|~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}

// origin is scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// givenTransport is that of Config.HTTPClient. What it proves by itself it proves to
// everybody.
type givenTransport struct{ http.RoundTripper }

func (g givenTransport) host(_ context.Context, c credential) (http.RoundTripper, error) {
	if c.certificate != "" {
		return nil, errPluginCertificate
	}
	return g.RoundTripper, nil
}

func (g givenTransport) stranger() (http.RoundTripper, error) { return g.RoundTripper, nil }
func (g givenTransport) fault() error                         { return nil }

func (g givenTransport) CloseIdleConnections() {
	if next, ok := g.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}
