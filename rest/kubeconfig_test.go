// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/informerkit/informer/rest"
)

// writeFile writes a file below dir and returns its path.
func writeFile(t testing.TB, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// oneContext is a kubeconfig with one context, cluster and user.
func oneContext(cluster, user string) string {
	return "apiVersion: v1\nkind: Config\ncurrent-context: ctx\npreferences: {}\nextensions: []\n" +
		"contexts: [{name: ctx, context: {cluster: c, user: u, namespace: ns, extensions: []}}]\n" +
		"clusters: [{name: c, cluster: " + cluster + "}, {name: broken, cluster: [" + marker + "]}]\n" +
		"users: [{name: u, user: " + user + "}, {name: broken, user: {auth-provider: {name: " + marker + "}}}]\n"
}

func TestKubeconfigFields(t *testing.T) {
	dir := t.TempDir()
	const server = "server: 'https://example.com:6443/k8s'"
	base := rest.Config{BaseURL: "https://example.com:6443/k8s"}
	with := func(change func(*rest.Config)) rest.Config { c := base; change(&c); return c }
	for name, row := range map[string]struct {
		cluster, user string
		want          rest.Config
	}{
		"server alone": {"{" + server + ", extensions: [{name: x, extension: {a: 1}}]}", "{extensions: []}", base},
		"CA file": {"{" + server + ", certificate-authority: pki/ca.crt}", "{}", with(func(c *rest.Config) {
			c.CAFile = filepath.Join(dir, "pki/ca.crt")
		})},
		"absolute path": {"{" + server + ", certificate-authority: /pki/ca.crt}", "null", with(func(c *rest.Config) { c.CAFile = "/pki/ca.crt" })},
		"CA data wins": {"{" + server + ", certificate-authority: a, certificate-authority-data: " + b64("ca") + "}", "{}", with(func(c *rest.Config) {
			c.CAData = []byte("ca")
		})},
		"cluster": {"{" + server + ", insecure-skip-tls-verify: true, tls-server-name: name, proxy-url: 'socks5://proxy:1', disable-compression: true}", "{}", with(func(c *rest.Config) {
			c.InsecureSkipTLSVerify, c.TLSServerName, c.ProxyURL, c.DisableCompression = true, "name", "socks5://proxy:1", true
		})},
		"certificate files": {"{" + server + "}", "{client-certificate: a.crt, client-key: ../a.key}", with(func(c *rest.Config) {
			c.CertFile, c.KeyFile = filepath.Join(dir, "a.crt"), filepath.Join(filepath.Dir(dir), "a.key")
		})},
		"certificate data": {"{" + server + "}", "{client-certificate: a, client-certificate-data: " + b64("cert") + ", client-key-data: " + b64("key") + "}", with(func(c *rest.Config) {
			c.CertData, c.KeyData = []byte("cert"), []byte("key")
		})},
		"data and a key file": {"{" + server + "}", "{client-certificate-data: " + b64("cert") + ", client-key: the.key}", with(func(c *rest.Config) {
			c.CertData, c.KeyData = []byte("cert"), []byte("the key")
		})},
		"token":             {"{" + server + "}", "{token: abc}", with(func(c *rest.Config) { c.BearerToken = "abc" })},
		"token file wins":   {"{" + server + "}", "{token: abc, tokenFile: token}", with(func(c *rest.Config) { c.BearerTokenFile = filepath.Join(dir, "token") })},
		"name and password": {"{" + server + "}", "{username: me, password: 'a:b'}", with(func(c *rest.Config) { c.Username, c.Password = "me", "a:b" })},
		"somebody else": {"{" + server + "}", "{token: abc, as: you, as-uid: '7', as-groups: [a, b], as-user-extra: {k: [v, w]}}", with(func(c *rest.Config) {
			c.BearerToken = "abc"
			c.Impersonate = rest.Impersonation{User: "you", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{"k": {"v", "w"}}}
		})},
	} {
		writeFile(t, dir, "the.key", "the key")
		path := writeFile(t, dir, "config", oneContext(row.cluster, row.user))
		got, namespace, err := rest.LoadKubeconfig(rest.KubeconfigOptions{Path: path})
		if err != nil || namespace != "ns" {
			t.Errorf("%s: %q, %v", name, namespace, err)
		}
		if fields(got) != fields(row.want) {
			t.Errorf("%s:\n got %v\nwant %v", name, fields(got), fields(row.want))
		}
	}
}

// fields shows a Config, which does not show itself.
func fields(c rest.Config) string {
	v := reflect.ValueOf(c)
	var b strings.Builder
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() && (f.Kind() != reflect.Slice || f.Len() > 0) {
			fmt.Fprintf(&b, "%s=%v ", v.Type().Field(i).Name, f)
		}
	}
	return b.String()
}

// Whatever is wrong names file, context and field, and no value.
func TestKubeconfigThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	const server = "{server: 'https://example.com'}"
	for want, text := range map[string]string{
		`user "u": field "auth-provider" is not supported`:     oneContext(server, "{auth-provider: {name: "+marker+"}}"),
		`user "u": field "shibboleth" is not supported`:        oneContext(server, "{shibboleth: "+marker+"}"),
		`cluster "c": field "colour" is not supported`:         oneContext("{server: 'https://a', colour: "+marker+"}", "{}"),
		`user "u": field "sh" in "/exec" is not supported`:     oneContext(server, "{exec: {sh: "+marker+"}}"),
		`user "u": a field is not supported; its name looks`:   oneContext(server, "{token:"+marker+"}"),
		`user "u": a field in "/exec" is not supported`:        oneContext(server, "{exec: {command: a, !x "+marker+".7: y}}"),
		`field "/token": a JSON number does not fit`:           oneContext(server, "{token: 12345}"),
		`field "/client-key-data" is not base64`:               oneContext(server, "{client-key-data: '!"+marker+"'}"),
		`field "/as-user-extra/*/0"`:                           oneContext(server, "{as-user-extra: {"+marker+": [1]}}"),
		`cluster "c": field server is missing`:                 oneContext("{}", "{}"),
		`cluster "c": field server is not a URL`:               oneContext("{server: \"http://"+marker+"\\x7f\"}", "{}"),
		`cluster "c": field server needs http:// or https://`:  oneContext("{server: 'example.com:6443'}", "{}"),
		`cluster "c": field proxy-url needs http://`:           oneContext("{server: 'https://a', proxy-url: 'ftp://"+marker+"'}", "{}"),
		`insecure-skip-tls-verify excludes`:                    oneContext("{server: 'https://a', insecure-skip-tls-verify: true, certificate-authority: a}", "{}"),
		`user "u": field client-key is missing`:                oneContext(server, "{client-certificate: a}"),
		`user "u": field client-certificate is missing`:        oneContext(server, "{client-key-data: "+b64(marker)+"}"),
		`field client-key: open `:                              oneContext(server, "{client-certificate-data: "+b64(marker)+", client-key: absent}"),
		`user "u": fields token and username exclude`:          oneContext(server, "{token: "+marker+", username: a}"),
		`user "u": field exec excludes`:                        oneContext(server, "{token: "+marker+", exec: {command: a}}"),
		`user "u": field as is missing`:                        oneContext(server, "{as-groups: ["+marker+"]}"),
		`BearerToken has characters that no token has`:         oneContext(server, "{token: \""+marker+"\\n\"}"),
		`user "u": field exec: command is missing`:             oneContext(server, "{exec: {apiVersion: client.authentication.k8s.io/v1}}"),
		`user "u": field exec: apiVersion is neither`:          oneContext(server, "{exec: {command: a, apiVersion: client.authentication.k8s.io/v1alpha1}}"),
		`user "u": field exec: interactiveMode is missing`:     oneContext(server, "{exec: {command: a, apiVersion: client.authentication.k8s.io/v1}}"),
		`interactiveMode is none of Never`:                     oneContext(server, "{exec: {command: a, apiVersion: client.authentication.k8s.io/v1, interactiveMode: "+marker+"}}"),
		`context "ctx": no such context, but "a", "b"`:         "current-context: ctx\ncontexts: [{name: b}, {name: a}]",
		`context "ctx": no such context, but none at all`:      "current-context: ctx",
		`context "ctx": cluster "c": no such cluster, but "d"`: "current-context: ctx\ncontexts: [{name: ctx, context: {cluster: c}}]\nclusters: [{name: d}]",
		`context "ctx": user "u": no such user, but none`:      "current-context: ctx\ncontexts: [{name: ctx, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: " + server + "}]",
		`context "ctx": field cluster is missing`:              "current-context: ctx\ncontexts: [{name: ctx}]",
		`context "": current-context is not set`:               "contexts: []",
		`two entries for user "u"`:                             "users: [{name: u}, {name: u}]",
		`invalid YAML at or near line 2`:                       "a: b\n" + marker + ": c: d",
		`: invalid YAML`: "a: &a [" + strings.Repeat("x,", 1000) + "]\nb: &b [" + strings.Repeat("*a,", 1000) + "]\nc: &c [" + strings.Repeat("*b,", 1000) + "]\n" +
			"d: [" + strings.Repeat("*c,", 1000) + "]",
		`: object does not fit its type`:    "- " + marker,
		`of kind Pod, and no Config`:        "kind: Pod\ntoken: " + marker,
		`of unreadable kind, and no Config`: "kind: " + marker,
		`apiVersion is not v1`:              "apiVersion: " + marker,
		`larger than 16777216 bytes`:        strings.Repeat("#"+marker+"\n", 1<<20),
	} {
		path := writeFile(t, dir, "config", text)
		_, _, err := rest.LoadKubeconfig(rest.KubeconfigOptions{Path: path})
		if !errors.Is(err, rest.ErrKubeconfig) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("want %q: %v", want, err)
		}
		wantDiscreet(t, err)
	}
}

func TestKubeconfigFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	absent := filepath.Join(dir, "absent")
	if _, _, err := rest.LoadKubeconfig(rest.KubeconfigOptions{Path: absent}); !errors.Is(err, rest.ErrNoKubeconfig) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("named, and not there: %v", err)
	}
	home := filepath.Join(".kube", "config")
	for _, variable := range []string{"", absent + ":" + absent} {
		t.Setenv("KUBECONFIG", variable)
		if _, _, err := rest.LoadKubeconfig(rest.KubeconfigOptions{}); !errors.Is(err, rest.ErrNoKubeconfig) || !strings.Contains(err.Error(), dir) {
			t.Errorf("KUBECONFIG=%q: %v", variable, err)
		}
	}

	first := writeFile(t, dir, "a/config", "clusters: [{name: c, cluster: {server: 'https://first', certificate-authority: ca}}]\nusers: [{name: u, user: {token: first}}]\n")
	second := writeFile(t, dir, "b/config", strings.ReplaceAll(oneContext("{server: 'https://second'}", "{token: second, username: x}"), "ctx", "two")+
		"---\n")
	third := writeFile(t, dir, "c/config", "current-context: three\ncontexts: [{name: two, context: {cluster: none}}, {name: three, context: {cluster: c3}}]\nclusters: [{name: c3, cluster: {server: 'https://third', certificate-authority: ca}}]")
	empty := writeFile(t, dir, "empty", "")
	list := strings.Join([]string{"", absent, empty, first, second, third, first}, string(filepath.ListSeparator))
	t.Setenv("KUBECONFIG", list)
	config, namespace, err := rest.LoadKubeconfig(rest.KubeconfigOptions{})
	if err != nil || config.BaseURL != "https://first" || config.BearerToken != "first" || config.Username != "" || config.CAFile != filepath.Join(dir, "a", "ca") || namespace != "ns" {
		t.Errorf("merged: %s, %v", fields(config), err)
	}
	config, namespace, err = rest.LoadKubeconfig(rest.KubeconfigOptions{Context: "three"})
	if err != nil || config.BaseURL != "https://third" || config.BearerToken != "" || config.CAFile != filepath.Join(dir, "c", "ca") || namespace != "" {
		t.Errorf("a context by name: %s, %v", fields(config), err)
	}
	if _, _, err = rest.LoadKubeconfig(rest.KubeconfigOptions{Context: "four"}); !errors.Is(err, rest.ErrKubeconfig) || !strings.Contains(err.Error(), `"three", "two"`) {
		t.Errorf("a context that is not there: %v", err)
	}
	writeFile(t, dir, home, oneContext("{server: 'https://home'}", "{}"))
	t.Setenv("KUBECONFIG", "")
	if config, _, err = rest.LoadKubeconfig(rest.KubeconfigOptions{}); err != nil || config.BaseURL != "https://home" {
		t.Errorf("at home: %s, %v", fields(config), err)
	}
	t.Setenv("HOME", "")
	if _, _, err = rest.LoadKubeconfig(rest.KubeconfigOptions{}); !errors.Is(err, rest.ErrNoKubeconfig) {
		t.Errorf("without a home: %v", err)
	}
}

// Secrets are not printed by accident.
func TestConfigIsNotPrinted(t *testing.T) {
	plugin, err := rest.NewExecPlugin("/bin/plugin", rest.ExecPluginOptions{Args: []string{marker}, Env: map[string]string{"A": marker}})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.Config{BaseURL: "https://example.com", BearerToken: marker, Password: marker, KeyData: []byte(marker), Exec: plugin, ProxyURL: "http://" + marker + "@proxy"}
	bad := rest.Config{BaseURL: "https://" + marker + ":" + marker + "@example.com"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		text := fmt.Sprintf(verb+verb+verb+verb, config, &config, bad, plugin)
		for _, form := range markerForms {
			if strings.Contains(text, form) || strings.Contains(text, fmt.Sprintf("%x", form)) {
				t.Errorf("%s: %s", verb, text)
			}
		}
		if !strings.Contains(text, "https://example.com") || !strings.Contains(text, "/bin/plugin") {
			t.Errorf("%s: %s", verb, text)
		}
	}
}

// What is sent for each way to say who asks.
func TestHeadersOfCredentials(t *testing.T) {
	extra := map[string][]string{"Example.com/Colour ä": {"red", "green"}}
	for name, row := range map[string]struct {
		config rest.Config
		want   http.Header
	}{
		"nobody":   {rest.Config{}, http.Header{}},
		"password": {rest.Config{Username: "me", Password: "a:b"}, http.Header{"Authorization": {"Basic " + b64("me:a:b")}}},
		"somebody else": {rest.Config{BearerToken: "abc", Impersonate: rest.Impersonation{User: "you", UID: "7", Groups: []string{"a", "b"}, Extra: extra}}, http.Header{
			"Authorization": {"Bearer abc"}, "Impersonate-User": {"you"}, "Impersonate-Uid": {"7"}, "Impersonate-Group": {"a", "b"},
			"Impersonate-Extra-Example.com%2fcolour%20%c3%A4": {"red", "green"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var here recorder
			server := serve(t, here.record(answerJSON(typed)))
			row.config.BaseURL = server.URL
			if _, _, err := collect(t.Context(), newClient[*Secret](t, row.config)); err != nil {
				t.Fatal(err)
			}
			got := http.Header{}
			for key, values := range here.all()[0].Header {
				if key == "Authorization" || strings.HasPrefix(key, "Impersonate-") {
					got[strings.ToLower(key)] = values
				}
			}
			want := http.Header{}
			for key, values := range row.want {
				want[strings.ToLower(key)] = values
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
