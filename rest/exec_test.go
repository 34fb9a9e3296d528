// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestMain makes the test binary a credential plugin where its environment says so.
func TestMain(m *testing.M) {
	if dir := os.Getenv("REST_TEST_PLUGIN"); dir != "" {
		os.Exit(plugin(dir))
	}
	os.Exit(m.Run())
}

// plugin writes down that it ran and with what, and does what the file "do" says.
func plugin(dir string) int {
	runs, err := os.OpenFile(filepath.Join(dir, "runs"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 90
	}
	_, _ = fmt.Fprintln(runs, strings.Join(os.Args[1:], " "), os.Getenv("KUBERNETES_EXEC_INFO"), os.Getenv("EXTRA"))
	_, _ = fmt.Fprintln(os.Stderr, marker)
	if address, err := os.ReadFile(filepath.Join(dir, "wait")); err == nil {
		conn, err := net.Dial("tcp", string(address))
		if err != nil {
			return 91
		}
		_, _ = io.Copy(io.Discard, conn) // until the test closes it
	}
	input, _ := io.ReadAll(os.Stdin)
	if len(input) > 0 {
		return 92
	}
	answer, err := os.ReadFile(filepath.Join(dir, "answer"))
	if err != nil {
		_, _ = fmt.Println(marker)
		return 7
	}
	_, _ = os.Stdout.Write(answer)
	return 0
}

// pluginDir is where a plugin of a test reads and writes.
type pluginDir struct {
	t   testing.TB
	dir string
}

func newPluginDir(t testing.TB) pluginDir { return pluginDir{t, t.TempDir()} }

func (p pluginDir) answer(status string) {
	p.raw(`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":` + status + `}`)
}

func (p pluginDir) raw(text string) {
	p.t.Helper()
	writeFile(p.t, p.dir, "answer", text)
}

// runs are the lines that the plugin wrote down.
func (p pluginDir) runs() []string {
	data, err := os.ReadFile(filepath.Join(p.dir, "runs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")[:bytes.Count(data, []byte("\n"))]
}

func (p pluginDir) plugin(options rest.ExecPluginOptions) *rest.ExecPlugin {
	p.t.Helper()
	binary, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	if options.Env == nil {
		options.Env = map[string]string{}
	}
	options.Env["REST_TEST_PLUGIN"] = p.dir
	plugin, err := rest.NewExecPlugin(binary, options)
	if err != nil {
		p.t.Fatal(err)
	}
	return plugin
}

func TestExecPlugin(t *testing.T) {
	p := newPluginDir(t)
	token := "one"
	server := serve(t, guarded(&token, answerJSON(typed)))
	config := rest.Config{BaseURL: server.URL, Exec: p.plugin(rest.ExecPluginOptions{Args: []string{"get", "it"}, Env: map[string]string{"EXTRA": "more"}})}
	client, other := newClient[*Secret](t, config), newClient[*Secret](t, config)
	try := func(c *rest.Client[*Secret]) error {
		_, _, err := collect(t.Context(), c)
		wantDiscreet(t, err)
		return err
	}
	wantRuns := func(n int) {
		t.Helper()
		if runs := p.runs(); len(runs) != n {
			t.Fatalf("%d runs, want %d: %q", len(runs), n, runs)
		}
	}

	if err := try(client); err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.HasPrefix(err.Error(), "list "+server.URL) {
		t.Errorf("no answer: %v", err)
	}
	wantRuns(1)
	p.answer(`{"token":"one"}`)
	if err := errors.Join(try(client), try(client), try(other)); err != nil {
		t.Error(err)
	}
	wantRuns(2) // for both clients, and for three requests
	if want := `get it {"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}} more`; p.runs()[1] != want {
		t.Errorf("run as %s\nwant   %s", p.runs()[1], want)
	}
	token = "two"
	p.answer(`{"token":"two"}`)
	if err := try(client); err != nil {
		t.Errorf("refused, and renewed: %v", err)
	}
	wantRuns(3)
	token = "three"
	if err := try(client); !apierrors.IsUnauthorized(err) {
		t.Errorf("refused, and not renewed: %v", err)
	}
	wantRuns(4)
	p.raw(marker)
	if err := try(client); !apierrors.IsUnauthorized(err) || !strings.Contains(err.Error(), "credential plugin") {
		t.Errorf("refused, and the plugin fails: %v", err)
	}
	token = "four"
	p.answer(`{"token":"four","expirationTimestamp":"2001-02-03T04:05:06Z"}`)
	if err := errors.Join(try(client), try(other)); err != nil {
		t.Errorf("expired: %v", err)
	}
	wantRuns(8) // the token of before, four after 401, and again for each request
	p.answer(`{"token":"four","expirationTimestamp":"` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}`)
	if err := errors.Join(try(client), try(other)); err != nil {
		t.Errorf("to expire: %v", err)
	}
	wantRuns(9)
}

// What a plugin may answer, and what does not get out.
func TestExecPluginAnswers(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := keyPair(t, dir, marker)
	cert, key := read(t, certFile), read(t, keyFile)
	p := newPluginDir(t)
	server := serve(t, answerJSON(typed))
	head := `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":`
	quote := func(s string) string { out, _ := json.Marshal(s); return string(out) }
	for name, row := range map[string]struct{ answer, want string }{
		"no key":             {head + `{"clientCertificateData":` + quote(cert) + `,"clientKeyData":"` + marker + `"}}`, "no private key"},
		"neither of another": {head + `{"clientCertificateData":` + quote(cert) + `,"clientKeyData":"-----BEGIN PRIVATE KEY-----\n` + b64(marker) + `\n-----END PRIVATE KEY-----\n"}}`, "cannot be read, or are not of each other"},
		"too much":           {strings.Repeat(marker, 100_000), "answer of more than 1048576 bytes"},
	} {
		p.raw(row.answer)
		client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, Exec: p.plugin(rest.ExecPluginOptions{})})
		_, _, err := collect(t.Context(), client)
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "credential plugin ") {
			t.Errorf("%s: want %q: %v", name, row.want, err)
		}
		wantDiscreet(t, err)
	}
	p.raw(head + `{"clientCertificateData":` + quote(cert) + `,"clientKeyData":` + quote(key) + `}}`)
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, HTTPClient: server.Client(), Exec: p.plugin(rest.ExecPluginOptions{})})
	if _, _, err := collect(t.Context(), client); err == nil || !strings.Contains(err.Error(), "HTTPClient exclude each other") {
		t.Errorf("a certificate for a given client: %v", err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A certificate of a plugin is presented, and another one as soon as the first is refused.
func TestExecPluginCertificate(t *testing.T) {
	p := newPluginDir(t)
	answerWith := func(name string) {
		certFile, keyFile := keyPair(t, t.TempDir(), name)
		status, _ := json.Marshal(map[string]string{"clientCertificateData": read(t, certFile), "clientKeyData": read(t, keyFile)})
		p.answer(string(status))
	}
	want := "first"
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.TLS.PeerCertificates[0].Subject.CommonName != want {
			answer(401, "text/plain", "")(w, req)
			return
		}
		answerJSON(typed)(w, req)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.EnableHTTP2 = true // the connection stays
	server.StartTLS()
	defer server.Close()
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, InsecureSkipTLSVerify: true, Exec: p.plugin(rest.ExecPluginOptions{})})
	for _, want = range []string{"first", "second"} {
		answerWith(want)
		if _, _, err := collect(t.Context(), client); err != nil {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Many requests that need a credential at once run one process, and leave with their context.
func TestExecPluginRunsOnce(t *testing.T) {
	p := newPluginDir(t)
	p.answer(`{"token":"one"}`)
	running, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = running.Close() }()
	writeFile(t, p.dir, "wait", running.Addr().String())
	token := "one"
	server := serve(t, guarded(&token, answerJSON(typed)))
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, Exec: p.plugin(rest.ExecPluginOptions{})})
	list := func(ctx context.Context, n int, want error) *sync.WaitGroup {
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				if _, _, err := collect(ctx, client); !errors.Is(err, want) {
					t.Errorf("want %v: %v", want, err)
				}
			})
		}
		return &all
	}
	await := func() net.Conn {
		t.Helper()
		conn, err := running.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	gaveUp := errors.New("gave up")
	hasty := list(ctx, 3, gaveUp)
	conn := await()
	cancel(gaveUp)
	hasty.Wait()
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("the process still runs")
	}
	patient := list(t.Context(), 10, nil)
	_ = await().Close()
	patient.Wait()
	if runs := p.runs(); len(runs) != 2 {
		t.Errorf("%d runs", len(runs))
	}
}

func TestExecPluginOfKubeconfig(t *testing.T) {
	for _, told := range []bool{true, false} {
		p := newPluginDir(t)
		certFile, _ := keyPair(t, p.dir, "CA")
		binary, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(binary, filepath.Join(p.dir, "the plugin")); err != nil {
			t.Fatal(err)
		}
		cluster := `{server: 'https://127.0.0.1:1', certificate-authority: tls.crt, tls-server-name: name, proxy-url: 'http://p', disable-compression: true,
  extensions: [{name: other, extension: 1}, {name: client.authentication.k8s.io/exec, extension: {audience: x}}]}`
		user := fmt.Sprintf(`{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: './the plugin', args: [a], provideClusterInfo: %t,
  env: [{name: REST_TEST_PLUGIN, value: '%s'}, {name: EXTRA, value: e}]}}`, told, p.dir)
		var stderr bytes.Buffer
		config, _, err := rest.LoadKubeconfig(rest.KubeconfigOptions{Path: writeFile(t, p.dir, "config", oneContext(cluster, user)), PluginStderr: &stderr})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = collect(t.Context(), newClient[*Secret](t, config)) // the plugin has no answer
		if err == nil || !strings.Contains(err.Error(), filepath.Join(p.dir, "the plugin")+": exit status 7") {
			t.Error(err)
		}
		wantDiscreet(t, err)
		spec := `"interactive":false`
		if told {
			spec = `"cluster":{"server":"https://127.0.0.1:1","tls-server-name":"name","certificate-authority-data":"` + b64(read(t, certFile)) +
				`","proxy-url":"http://p","disable-compression":true,"config":{"audience":"x"}},` + spec
		}
		want := `a {"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{` + spec + `}} e`
		if runs := p.runs(); len(runs) != 1 || runs[0] != want {
			t.Errorf("run as %q\nwant    %q", runs, want)
		}
		if !strings.Contains(stderr.String(), marker) {
			t.Errorf("standard error is not where it was asked for: %q", &stderr)
		}
	}
}

func TestExecPluginThatCannotBe(t *testing.T) {
	for want, options := range map[string]rest.ExecPluginOptions{
		"apiVersion is neither":   {APIVersion: marker},
		"interactiveMode is none": {InteractiveMode: marker},
		"env has a name":          {Env: map[string]string{"=": marker}},
	} {
		_, err := rest.NewExecPlugin("x", options)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		wantDiscreet(t, err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func(before *os.File) { os.Stdin = before; _ = null.Close() }(os.Stdin)
	os.Stdin = null
	plugin, err := rest.NewExecPlugin("x", rest.ExecPluginOptions{InteractiveMode: "Always"})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: "http://127.0.0.1:1", Exec: plugin}))
	if err == nil || !strings.Contains(err.Error(), "credential plugin x: needs a terminal") {
		t.Errorf("without a terminal: %v", err)
	}
	if _, err := rest.NewExecPlugin("", rest.ExecPluginOptions{}); err == nil {
		t.Error("no command: no error")
	}
	for want, row := range map[string]struct {
		command string
		options rest.ExecPluginOptions
	}{
		"executable file not found in $PATH (get it at example.com\ufffd)": {"informer-no-such-plugin", rest.ExecPluginOptions{InstallHint: "get it at example.com\x1b"}},
		"no such file or directory":                                        {filepath.Join(t.TempDir(), "absent"), rest.ExecPluginOptions{}},
		"config of the cluster":                                            {"informer-no-such-plugin", rest.ExecPluginOptions{ProvideClusterInfo: true, ClusterConfig: []byte(marker)}},
	} {
		plugin, err := rest.NewExecPlugin(row.command, row.options)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: "http://127.0.0.1:1", Exec: plugin}))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "credential plugin "+row.command) {
			t.Errorf("want %q: %v", want, err)
		}
		wantDiscreet(t, err)
	}
}
