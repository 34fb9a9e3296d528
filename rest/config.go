// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// defaultMaxItemSize is ten times what etcd stores of an object by default (1.5 MiB).
	defaultMaxItemSize = 16 << 20
	// defaultMaxListSize is twice what a million pods of 4 KB take.
	defaultMaxListSize = 8 << 30
	// defaultListTimeout is twice what kube-apiserver gives itself for a list by default:
	// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/,
	// --request-timeout.
	defaultListTimeout = 2 * time.Minute
)

// Config says how to reach a server. Of the zero value only BaseURL has to be set.
// InClusterConfig and LoadKubeconfig make one.
//
// It holds secrets: printed with package fmt, it shows its BaseURL alone.
type Config struct {
	// BaseURL is scheme, host, and where the API is served below one, a path prefix;
	// required.
	BaseURL string

	// HTTPClient sends the requests; nil: one made from the TLS fields below, with HTTP/2
	// and health checks on it. It is not changed. A Timeout of its own cuts watches too.
	// Together with TLS fields or ProxyURL it is an error.
	HTTPClient *http.Client

	// BearerToken is sent to the host of BaseURL, and to no other one that it redirects to;
	// so are all other proofs of who asks, and whom to impersonate.
	BearerToken string
	// BearerTokenFile holds the token instead: read again at the first request after a
	// minute, and at once when the server answers 401, so that it may rotate. While it
	// cannot be read, the last token that could be is sent on, for a token is valid
	// longer than it lies in the file; the error is logged once and is part of the error
	// of a 401. If there is no last token, requests fail with an error that names the file.
	BearerTokenFile string
	// Username and Password are sent instead of a token.
	Username, Password string
	// Exec is a program that hands out a token or a client certificate instead; nil: none.
	// Clients that share it share what it has handed out.
	Exec *ExecPlugin
	// Impersonate is whom to act as; the zero value: nobody else.
	Impersonate Impersonation

	// CAFile holds the certificates, in PEM, that the server's must descend from; "":
	// those of CAData.
	//
	// This file and the next two are read again at each request, and new ones are used
	// from the next request on, which has a connection of its own then. While they cannot
	// be used, the last ones that could be are; the error is logged once, and is part of
	// the errors of requests that fail for want of an answer or with 401.
	CAFile string
	// CAData is the same without a file; both empty: the certificates of the system.
	CAData []byte
	// CertFile and KeyFile are the client's certificate and key, in PEM; both or none.
	CertFile, KeyFile string
	// CertData and KeyData are the same without files.
	CertData, KeyData []byte
	// TLSServerName is the name that the server's certificate has to have; "": the host of
	// BaseURL.
	TLSServerName string
	// InsecureSkipTLSVerify accepts any certificate of any server.
	InsecureSkipTLSVerify bool
	// ProxyURL is the proxy, by http, https or socks5; "": that of the environment
	// (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), if it has one for BaseURL.
	ProxyURL string

	// Encoding is what the server is asked for; zero: JSON. Types that cannot be read in it
	// are asked for in JSON, and so is a server that does not have it, which is remembered.
	Encoding Encoding
	// UserAgent names the program to the server; "": the name of the binary.
	UserAgent string
	// ListTimeout is how long one request of a list, or of discovery, may wait for the
	// server in all: for a connection, a credential plugin, the answer and each piece of
	// it, but not for those who take the objects. Then it ends with ErrListTimeout. 0: 2
	// minutes; negative: without limit. A watch has none: it ends when the server says,
	// and a Reflector guards against one that has fallen silent.
	ListTimeout time.Duration
	// MaxItemSize limits the bytes of one item of a list, and of one event, decompressed;
	// 0: 16 MiB; negative is an error.
	MaxItemSize int64
	// MaxListSize limits the bytes of one answer to a list, decompressed, whatever it
	// claims to be; 0: 8 GiB; negative is an error.
	MaxListSize int64
	// DropManagedFields leaves metadata.managedFields out of every object, as
	// transform.DropManagedFields does, but without decoding them first.
	DropManagedFields bool
	// DisableCompression does not ask for compressed lists, which cost a server more time
	// than a fast network saves. Compressed answers are read all the same.
	DisableCompression bool

	// OnWarning is told what the server warns of: that a version is deprecated, say; nil:
	// klog is. Each text comes once a Client, and at most 32 texts do, cut to 512 bytes
	// and made printable. It may be called by several goroutines.
	OnWarning func(ctx context.Context, warning string)
}

// Impersonation is whom to act as:
// https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
type Impersonation struct {
	User   string              // "": nobody else, and the other fields are an error
	UID    string              // "": none
	Groups []string            // nil: those that the server gives every user
	Extra  map[string][]string // by key, in which case does not count
}

// serviceAccountDir is where a pod finds its service account:
// https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// InClusterConfig is the configuration of a program in a pod, from the environment and
// the files of its service account.
//
// Errors: ErrNotInCluster; a CA file that is not there.
func InClusterConfig() (Config, error) {
	return inCluster(os.Getenv, serviceAccountDir)
}

func inCluster(getenv func(string) string, dir string) (Config, error) {
	host, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return Config{}, ErrNotInCluster
	}
	config := Config{
		BaseURL:         "https://" + net.JoinHostPort(host, port),
		BearerTokenFile: filepath.Join(dir, "token"),
		CAFile:          filepath.Join(dir, "ca.crt"),
	}
	// Without it the system's certificates would be taken, and a stranger be trusted.
	if _, err := os.Stat(config.CAFile); err != nil {
		return Config{}, fmt.Errorf("rest: in-cluster configuration: CA file: %w", err)
	}
	return config, nil
}

// Format implements fmt.Formatter, for every verb. It shows nothing that is secret.
func (c Config) Format(f fmt.State, _ rune) {
	shown := "unreadable"
	if base, err := parseBase(c.BaseURL); err == nil {
		shown = base.String()
	}
	_, _ = fmt.Fprintf(f, "rest.Config{BaseURL: %q, …}", shown)
}

// withDefaults checks a Config, applies its defaults and parses its BaseURL.
func (c Config) withDefaults() (Config, *url.URL, error) {
	base, err := parseBase(c.BaseURL)
	if err != nil {
		return c, nil, err
	}
	for _, check := range []func() error{c.checkWho, c.checkTLS, c.checkLimits} {
		if err := check(); err != nil {
			return c, nil, err
		}
	}
	c.MaxItemSize = cmp.Or(c.MaxItemSize, defaultMaxItemSize)
	c.MaxListSize = cmp.Or(c.MaxListSize, defaultMaxListSize)
	c.ListTimeout = cmp.Or(c.ListTimeout, defaultListTimeout)
	c.UserAgent = cmp.Or(c.UserAgent, filepath.Base(os.Args[0])+" ("+runtime.GOOS+"/"+runtime.GOARCH+") informer")
	return c, base, nil
}

// checkWho checks what proves who asks.
func (c Config) checkWho() error {
	ways := 0
	for _, used := range []bool{c.BearerToken != "" || c.BearerTokenFile != "", c.Username != "" || c.Password != "", c.Exec != nil} {
		if used {
			ways++
		}
	}
	switch {
	case c.BearerToken != "" && c.BearerTokenFile != "":
		return errors.New("BearerToken and BearerTokenFile exclude each other")
	case ways > 1:
		return errors.New("a bearer token, Username and Exec exclude each other")
	case strings.ContainsFunc(c.BearerToken, notInToken):
		return errors.New("BearerToken has characters that no token has")
	case strings.Contains(c.Username, ":"):
		return errors.New("a Username has no colon in it") // RFC 7617, section 2
	}
	return c.Impersonate.check()
}

func (i Impersonation) check() error {
	values := append([]string{i.User, i.UID}, i.Groups...)
	for _, more := range i.Extra {
		values = append(values, more...)
	}
	for _, value := range values {
		if strings.ContainsFunc(value, notInHeader) {
			return errors.New("a value of Impersonate has control characters in it")
		}
	}
	if i.User == "" && (i.UID != "" || len(i.Groups) > 0 || len(i.Extra) > 0) {
		return errors.New("no User in Impersonate")
	}
	return nil
}

func (c Config) checkTLS() error {
	switch {
	case c.HTTPClient != nil && (c.hasTLS() || c.ProxyURL != ""):
		return errors.New("HTTPClient and the TLS fields or ProxyURL exclude each other")
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("CertFile and KeyFile go together")
	case (len(c.CertData) == 0) != (len(c.KeyData) == 0):
		return errors.New("CertData and KeyData go together")
	case c.CertFile != "" && len(c.CertData) > 0:
		return errors.New("CertFile and CertData exclude each other")
	case c.CAFile != "" && len(c.CAData) > 0:
		return errors.New("CAFile and CAData exclude each other")
	case c.InsecureSkipTLSVerify && (c.CAFile != "" || len(c.CAData) > 0):
		return errors.New("InsecureSkipTLSVerify and a CA exclude each other")
	}
	_, err := parseProxy(c.ProxyURL)
	return err
}

func (c Config) checkLimits() error {
	switch {
	case c.MaxItemSize < 0:
		return errors.New("MaxItemSize is negative")
	case c.MaxListSize < 0:
		return errors.New("MaxListSize is negative")
	case strings.ContainsFunc(c.UserAgent, notInHeader):
		return errors.New("UserAgent has control characters in it")
	}
	return nil
}

func (c Config) hasTLS() bool {
	return c.CAFile != "" || len(c.CAData) > 0 || c.CertFile != "" || len(c.CertData) > 0 ||
		c.TLSServerName != "" || c.InsecureSkipTLSVerify
}

// parseBase never quotes what it refuses, which may hold a password.
func parseBase(s string) (*url.URL, error) {
	base, err := url.Parse(s)
	switch {
	case s == "":
		return nil, errors.New("BaseURL is required")
	case err != nil:
		return nil, errors.New("BaseURL is not a URL")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, errors.New("BaseURL needs http:// or https:// and a host")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("BaseURL is scheme, host and path, nothing else")
	}
	return base, nil
}

// parseProxy never quotes either; nil: no proxy was named.
func parseProxy(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil
	}
	proxy, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("ProxyURL is not a URL")
	}
	switch proxy.Scheme {
	case "http", "https", "socks5":
		if proxy.Host != "" {
			return proxy, nil
		}
	}
	return nil, errors.New("ProxyURL needs http://, https:// or socks5:// and a host")
}

// notInHeader reports what cannot be part of a header's value.
func notInHeader(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
