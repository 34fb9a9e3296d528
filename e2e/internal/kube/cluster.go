// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// portTries is how often a start is tried anew when another process took one of its ports.
const portTries = 5

// Options configures a cluster. The zero value is ready to use.
type Options struct {
	// Flags are further flags of kube-apiserver, such as "--watch-cache=false". Of a flag that is
	// given twice, the last one counts.
	Flags []string

	// FeatureGates are switched on or off in kube-apiserver.
	FeatureGates map[string]bool

	// EtcdFlags are further flags of etcd.
	EtcdFlags []string

	// EtcdOf is a cluster whose etcd the new one's kube-apiserver uses too, as a second server of
	// the same collections. That cluster has to outlive this one. Nil: an etcd of its own.
	EtcdOf *Cluster
}

// Cluster is one etcd and one kube-apiserver on loopback. No controllers run: namespaces that are
// deleted stay Terminating until somebody finalizes them, and nothing is garbage collected.
//
// Lifetime: until Stop, which removes all its files. If this process is killed, its servers die
// with it (on Linux), and the next Start removes the files.
type Cluster struct {
	Etcd      *Process
	APIServer *Process

	// URL is the address of kube-apiserver; it stays the same when the server is started again.
	URL string
	// CAFile holds the certificate that the server's own can be verified with.
	CAFile string
	// Token belongs to a user who may do everything.
	Token string
	// TokenFile holds Token.
	TokenFile string
	// NobodyToken belongs to a user who may do nothing: 403.
	NobodyToken string

	sharesEtcd bool

	dir      string
	unlock   func()
	binaries Binaries
	ports    ports
}

type ports struct{ etcd, peer, api int }

// Start builds what is not built yet, starts both servers and waits until they are ready.
//
// Errors: they hold the last lines of the log of the server that did not start. Nothing is left
// running then.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	binaries, err := Build(ctx)
	if err != nil {
		return nil, err
	}
	for range portTries {
		var c *Cluster
		if c, err = newCluster(binaries, options); err != nil {
			return nil, err
		}
		if err = c.start(ctx); err == nil {
			return c, nil
		}
		taken := inUse(c.Etcd.Log()) || inUse(c.APIServer.Log())
		c.Stop()
		if !taken {
			break
		}
	}
	return nil, err
}

// newCluster lays out the files of a cluster.
func newCluster(binaries Binaries, options Options) (*Cluster, error) {
	dir, unlock, err := newRunDir()
	if err != nil {
		return nil, fmt.Errorf("folder of the cluster: %w", err)
	}
	c := &Cluster{
		CAFile:      filepath.Join(dir, "certs", "apiserver.crt"),
		Token:       rand.Text(),
		TokenFile:   filepath.Join(dir, "token"),
		NobodyToken: rand.Text(),
		dir:         dir,
		unlock:      unlock,
		binaries:    binaries,
	}
	if err := errors.Join(c.pickPorts(), c.writeFiles()); err != nil {
		c.removeFiles()
		return nil, fmt.Errorf("files of the cluster: %w", err)
	}
	if other := options.EtcdOf; other != nil {
		c.ports.etcd, c.Etcd, c.sharesEtcd = other.ports.etcd, other.Etcd, true
	}
	c.URL = fmt.Sprintf("https://127.0.0.1:%d", c.ports.api)
	if !c.sharesEtcd {
		c.Etcd = &Process{
			name: "etcd", path: binaries.Etcd, log: filepath.Join(dir, "etcd.log"),
			args: append(c.etcdArgs(), options.EtcdFlags...), ready: c.etcdReady,
		}
	}
	c.APIServer = &Process{
		name: "kube-apiserver", path: binaries.APIServer, log: filepath.Join(dir, "kube-apiserver.log"),
		args: append(c.apiServerArgs(options.FeatureGates), options.Flags...), ready: c.apiServerReady,
	}
	return c, nil
}

func (c *Cluster) pickPorts() error {
	for _, port := range []*int{&c.ports.etcd, &c.ports.peer, &c.ports.api} {
		var err error
		if *port, err = freePort(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) writeFiles() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(c.dir, "sa.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600),
		os.WriteFile(c.TokenFile, []byte(c.Token), 0o600),
		c.SetTokens(c.Token),
	)
}

// SetTokens says which tokens belong to the user who may do everything. The server reads them when
// it starts, so a change needs APIServer.Restart; Token and TokenFile are left alone.
func (c *Cluster) SetTokens(admin ...string) error {
	lines := []string{c.NobodyToken + ",nobody,nobody"}
	for _, token := range admin {
		lines = append(lines, token+`,admin,admin,"system:masters"`)
	}
	return os.WriteFile(filepath.Join(c.dir, "tokens.csv"), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// apiServerArgs are the flags of kube-apiserver. Etcd is compacted by tests alone, so that versions
// expire when a test says so.
func (c *Cluster) apiServerArgs(gates map[string]bool) []string {
	args := []string{
		"--etcd-servers=" + c.etcdURL(),
		fmt.Sprintf("--secure-port=%d", c.ports.api),
		"--bind-address=127.0.0.1",
		"--cert-dir=" + filepath.Join(c.dir, "certs"),
		"--service-account-key-file=" + filepath.Join(c.dir, "sa.key"),
		"--service-account-signing-key-file=" + filepath.Join(c.dir, "sa.key"),
		"--service-account-issuer=https://localhost",
		"--token-auth-file=" + filepath.Join(c.dir, "tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount",
		"--etcd-compaction-interval=0",
	}
	var list []string
	for gate, on := range gates {
		list = append(list, fmt.Sprintf("%s=%t", gate, on))
	}
	if len(list) > 0 {
		slices.Sort(list)
		args = append(args, "--feature-gates="+strings.Join(list, ","))
	}
	return args
}

// start starts etcd, gives it a history and starts kube-apiserver. With the history, version 1 is
// older than the window of every watch cache, as it is on every cluster that has lived.
func (c *Cluster) start(ctx context.Context) error {
	if c.sharesEtcd {
		return c.APIServer.Start(ctx)
	}
	if err := c.Etcd.Start(ctx); err != nil {
		return err
	}
	if err := c.ageEtcd(ctx); err != nil {
		return err
	}
	return c.APIServer.Start(ctx)
}

// Stop stops both servers and removes all files. Stopping twice does nothing.
func (c *Cluster) Stop() {
	c.APIServer.Stop()
	if !c.sharesEtcd {
		c.Etcd.Stop()
	}
	c.removeFiles()
}

func (c *Cluster) removeFiles() {
	// What cannot be removed now is removed by the next start.
	_ = os.RemoveAll(c.dir)
	c.unlock()
}

// KeepLogs copies the logs of both servers to a folder that outlives the cluster, and returns it.
func (c *Cluster) KeepLogs() (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	logs := filepath.Join(cache, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(logs, time.Now().UTC().Format("20060102-150405-"))
	if err != nil {
		return "", err
	}
	for _, p := range []*Process{c.Etcd, c.APIServer} {
		content, err := os.ReadFile(p.Log())
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(p.Log())), content, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// RESTConfig returns a configuration for clients of client-go, for the user who may do everything,
// without a limit on the rate of requests.
func (c *Cluster) RESTConfig() *rest.Config {
	return &rest.Config{
		Host:            c.URL,
		BearerToken:     c.Token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.CAFile},
		QPS:             -1,
	}
}

// HTTPClient returns a client of its own connections that sends the token, or none if it is empty.
// CloseIdleConnections ends the connections that are not in use.
func (c *Cluster) HTTPClient(token string) (*http.Client, error) {
	pool, err := c.certificates()
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	return &http.Client{Transport: bearer{transport, token}}, nil
}

// certificates reads the certificate, which the server makes in its first life and keeps.
func (c *Cluster) certificates() (*x509.CertPool, error) {
	content, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s holds no certificate", c.CAFile)
	}
	return pool, nil
}

// bearer adds a token to requests.
type bearer struct {
	*http.Transport
	token string
}

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.token != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.Transport.RoundTrip(request)
}

// apiServerReady asks the server itself, with a connection of its own and the token that
// SetTokens leaves alone. Who may do nothing may still ask this.
func (c *Cluster) apiServerReady(ctx context.Context) error {
	client, err := c.HTTPClient(c.NobodyToken)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return get(ctx, client, c.URL+"/readyz")
}

// get wants 200; the body of any other answer is the error.
func get(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, response.Status, content)
	}
	return nil
}
