// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// defaultMaxItemSize is ten times what etcd stores of an object by default (1.5 MiB).
const defaultMaxItemSize = 16 << 20

// Config says how to reach a server. Of the zero value only BaseURL has to be set.
type Config struct {
	// BaseURL is scheme, host, and where the API is served below one, a path prefix;
	// required.
	BaseURL string

	// HTTPClient sends the requests; nil: one made from the TLS fields below, with HTTP/2
	// and health checks on it, and the proxies of the environment. It is not changed. A
	// Timeout of its own cuts watches too. Together with TLS fields it is an error.
	HTTPClient *http.Client

	// BearerToken is sent to the host of BaseURL, and to no other one that it redirects to.
	BearerToken string
	// BearerTokenFile holds the token instead: read again at the first request after a
	// minute, and at once when the server answers 401, so that it may rotate. While it
	// cannot be read, the last token that could be is sent on, for a token is valid
	// longer than it lies in the file; the error is logged once and is part of the error
	// of a 401. If there is no last token, requests fail with an error that names the file.
	BearerTokenFile string

	// CAFile holds the certificates, in PEM, that the server's must descend from; "":
	// those of CAData. It is read once, by New.
	CAFile string
	// CAData is the same without a file; both empty: the certificates of the system.
	CAData []byte
	// CertFile and KeyFile are the client's certificate and key, in PEM, read again for
	// each new connection; both or none.
	CertFile, KeyFile string
	// InsecureSkipTLSVerify accepts any certificate of any server.
	InsecureSkipTLSVerify bool

	// UserAgent names the program to the server; "": the name of the binary.
	UserAgent string
	// MaxItemSize limits the bytes of one item of a list, and of one event; 0: 16 MiB;
	// negative is an error.
	MaxItemSize int64
	// DropManagedFields leaves metadata.managedFields out of every object, as
	// transform.DropManagedFields does, but without decoding them first.
	DropManagedFields bool
	// DisableCompression does not ask for compressed lists, which cost a server more time
	// than a fast network saves. Compressed answers are read all the same.
	DisableCompression bool
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

// withDefaults checks a Config, applies its defaults and parses its BaseURL.
func (c Config) withDefaults() (Config, *url.URL, error) {
	base, err := parseBase(c.BaseURL)
	switch {
	case err != nil:
		return c, nil, err
	case c.BearerToken != "" && c.BearerTokenFile != "":
		return c, nil, errors.New("BearerToken and BearerTokenFile exclude each other")
	case strings.ContainsFunc(c.BearerToken, notInToken):
		return c, nil, errors.New("BearerToken has characters that no token has")
	case (c.CertFile == "") != (c.KeyFile == ""):
		return c, nil, errors.New("CertFile and KeyFile go together")
	case c.HTTPClient != nil && c.hasTLS():
		return c, nil, errors.New("HTTPClient and the TLS fields exclude each other")
	case c.InsecureSkipTLSVerify && (c.CAFile != "" || len(c.CAData) > 0):
		return c, nil, errors.New("InsecureSkipTLSVerify and a CA exclude each other")
	case c.MaxItemSize < 0:
		return c, nil, errors.New("MaxItemSize is negative")
	}
	c.MaxItemSize = cmp.Or(c.MaxItemSize, defaultMaxItemSize)
	c.UserAgent = cmp.Or(c.UserAgent, filepath.Base(os.Args[0])+" ("+runtime.GOOS+"/"+runtime.GOARCH+") informer")
	return c, base, nil
}

func (c Config) hasTLS() bool {
	return c.CAFile != "" || len(c.CAData) > 0 || c.CertFile != "" || c.InsecureSkipTLSVerify
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
