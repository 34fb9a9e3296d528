// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// execUse is what a plugin hands out for one server.
type execUse struct {
	plugin  *ExecPlugin
	cluster execCluster // empty if it is not told

	mu      sync.Mutex
	have    credential
	expires time.Time // zero: never
	cause   error     // of the last run
}

// current implements credentials.
func (u *execUse) current(ctx context.Context) (credential, error) {
	return u.get(ctx, func(have credential, expires time.Time) bool {
		return have.run > 0 && (expires.IsZero() || time.Now().Before(expires))
	})
}

// renew implements credentials. Of several that were refused the same credential, one
// runs the program.
func (u *execUse) renew(ctx context.Context, refused credential) bool {
	have, err := u.get(ctx, func(have credential, _ time.Time) bool { return have.run > refused.run })
	have.run = refused.run
	return err == nil && have != refused
}

// fault implements credentials.
func (u *execUse) fault() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.cause
}

// get returns what there is if it is good, and otherwise runs the program when it is
// somebody's turn, unless another has run it meanwhile.
func (u *execUse) get(ctx context.Context, good func(credential, time.Time) bool) (credential, error) {
	look := func() (credential, bool) {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.have, good(u.have, u.expires)
	}
	if have, ok := look(); ok {
		return have, nil
	}
	select {
	case u.plugin.turn <- struct{}{}:
	case <-ctx.Done():
		return credential{}, fmt.Errorf("credential plugin %s: wait for another run: %w", u.plugin.command, context.Cause(ctx))
	}
	defer func() { <-u.plugin.turn }()
	have, ok := look()
	if ok {
		return have, nil
	}
	got, expires, err := u.run(ctx)
	if err != nil {
		err = fmt.Errorf("credential plugin %s: %w", u.plugin.command, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cause = err
	if err != nil {
		return credential{}, err
	}
	got.run = u.have.run + 1
	u.have, u.expires = got, expires
	return got, nil
}

// run runs the program once.
func (u *execUse) run(ctx context.Context) (credential, time.Time, error) {
	p := u.plugin
	interactive, err := p.interactive()
	if err != nil {
		return credential{}, time.Time{}, err
	}
	info, err := u.info(interactive)
	if err != nil {
		return credential{}, time.Time{}, err
	}
	if !interactive {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, execPatience)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, p.command, p.options.Args...)
	cmd.WaitDelay = time.Second // for what it has left behind that holds its output open
	cmd.Env = os.Environ()
	for name, value := range p.options.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, "KUBERNETES_EXEC_INFO="+string(info))
	out := &capped{left: maxExecOut}
	cmd.Stdout, cmd.Stderr = out, p.options.Stderr
	if interactive {
		cmd.Stdin = os.Stdin
		if cmd.Stderr == nil {
			cmd.Stderr = os.Stderr
		}
	}
	if err := cmd.Run(); err != nil {
		return credential{}, time.Time{}, p.explain(ctx, out, err)
	}
	return readExec(out.kept.Bytes(), p.options.APIVersion)
}

// explain says why a run failed, and nothing that the program wrote.
func (p *ExecPlugin) explain(ctx context.Context, out *capped, err error) error {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("was ended: %w", context.Cause(ctx))
	case out.left < 0:
		return fmt.Errorf("answer of more than %d bytes", maxExecOut)
	case errors.As(err, &exit):
		return fmt.Errorf("%w, and its standard error is not shown; it may be run by hand", err)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w%s", err, p.hint())
	}
	return err
}

// capped keeps what is written, up to a limit.
type capped struct {
	kept bytes.Buffer
	left int // negative: there was more
}

var errCapped = errors.New("too much")

// Write implements io.Writer.
func (c *capped) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		return 0, errCapped
	}
	return c.kept.Write(p)
}

// execCredential is what a plugin is told and what it answers.
type execCredential struct {
	Kind       string      `json:"kind"`
	APIVersion string      `json:"apiVersion"`
	Spec       execSpec    `json:"spec"`
	Status     *execStatus `json:"status,omitempty"`
}

type execSpec struct {
	Cluster     *execCluster `json:"cluster,omitempty"`
	Interactive bool         `json:"interactive"`
}

type execCluster struct {
	Server             string         `json:"server"`
	TLSServerName      string         `json:"tls-server-name,omitempty"`
	Insecure           bool           `json:"insecure-skip-tls-verify,omitempty"`
	CA                 []byte         `json:"certificate-authority-data,omitempty"`
	ProxyURL           string         `json:"proxy-url,omitempty"`
	DisableCompression bool           `json:"disable-compression,omitempty"`
	Config             jsontext.Value `json:"config,omitempty"`

	caFile string // read into CA at each run
}

type execStatus struct {
	ExpirationTimestamp   *metav1.Time `json:"expirationTimestamp,omitempty"`
	Token                 string       `json:"token,omitempty"`
	ClientCertificateData string       `json:"clientCertificateData,omitempty"`
	ClientKeyData         string       `json:"clientKeyData,omitempty"`
}

// info is what the program finds in its environment.
func (u *execUse) info(interactive bool) ([]byte, error) {
	told := execCredential{Kind: "ExecCredential", APIVersion: u.plugin.options.APIVersion, Spec: execSpec{Interactive: interactive}}
	if u.plugin.options.ProvideClusterInfo {
		cluster := u.cluster
		if cluster.caFile != "" {
			ca, err := os.ReadFile(cluster.caFile)
			if err != nil {
				return nil, fmt.Errorf("CA file: %w", err)
			}
			cluster.CA = ca
		}
		told.Spec.Cluster = &cluster
	}
	info, err := json.Marshal(&told, lenient())
	if err != nil {
		return nil, errors.New("config of the cluster is not JSON")
	}
	return info, nil
}

// readExec reads the answer of a plugin. Its errors hold nothing of it.
func readExec(answer []byte, apiVersion string) (credential, time.Time, error) {
	var got execCredential
	fail := func(err error) (credential, time.Time, error) {
		return credential{}, time.Time{}, fmt.Errorf("answer: %w", err)
	}
	if err := json.Unmarshal(answer, &got, lenient()); err != nil {
		return fail(discreet(reflect.TypeFor[execCredential](), err))
	}
	switch {
	case got.Kind != "ExecCredential":
		return fail(fmt.Errorf("%s, and no ExecCredential", safeKind(got.Kind)))
	case got.APIVersion != apiVersion:
		return fail(fmt.Errorf("another apiVersion than %s", apiVersion))
	case got.Status == nil:
		return fail(errors.New("no status"))
	}
	status := got.Status
	c := credential{certificate: status.ClientCertificateData, key: status.ClientKeyData}
	switch {
	case (c.certificate == "") != (c.key == ""):
		return fail(errors.New("a certificate without key, or a key without certificate"))
	case c.certificate == "" && status.Token == "":
		return fail(errors.New("neither token nor certificate"))
	case strings.ContainsFunc(status.Token, notInToken):
		return fail(errors.New("characters in the token that no token has"))
	}
	if c.certificate != "" {
		if _, err := keyPair([]byte(c.certificate), []byte(c.key)); err != nil {
			return fail(err)
		}
	}
	if status.Token != "" {
		c.header = "Bearer " + status.Token
	}
	if status.ExpirationTimestamp != nil {
		return c, status.ExpirationTimestamp.Time, nil
	}
	return c, time.Time{}, nil
}
