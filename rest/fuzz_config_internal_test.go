// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"strings"
	"testing"
)

// FuzzKubeconfig reads any text as a kubeconfig: it is refused, or makes a configuration
// that holds together, and no error holds what a field of it does.
func FuzzKubeconfig(f *testing.F) {
	const head = "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://a'}}]\n"
	for _, user := range []string{
		"{}", "{token: MARK3R}", "{token: [MARK3R]}", "{token: \"MARK3R\\n\"}", "{client-key-data: MARK3R, client-certificate: MARK3R}",
		"{exec: {command: a, apiVersion: client.authentication.k8s.io/v1, interactiveMode: MARK3R}}", "{as-user-extra: {MARK3R: MARK3R}}",
	} {
		f.Add(head + "users: [{name: u, user: " + user + "}]")
	}
	f.Add("a: &a [*a]")
	f.Add("{")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parseKubeconfig([]byte(text))
		if err == nil {
			k := newKubeconfigs()
			var c *chosen
			if err = k.merge("/none/config", file); err == nil {
				c, err = k.choose(k.current)
			}
			if err == nil {
				var config Config
				if config, err = c.config(nil); err == nil {
					if _, _, err := config.withDefaults(); err != nil {
						t.Errorf("accepted, and then: %v", err)
					}
				}
			}
		}
		if err != nil && strings.Contains(err.Error(), "MARK3R") && isValue(text, head) {
			t.Errorf("a value in an error: %v", err)
		}
	})
}

// isValue reports whether the marker stands in the values of fields of the user alone:
// names of entries and fields, and kinds, may be shown. The marker has a digit, for a name of
// letters alone is shown as that of a field, wherever it stands.
func isValue(text, head string) bool {
	user, ok := strings.CutPrefix(text, head+"users: [{name: u, user: {")
	return ok && strings.Count(user, "MARK3R") == strings.Count(user, ": MARK3R}") &&
		!strings.Contains(user, "name") && !strings.Contains(user, "kind")
}

// FuzzExecCredential reads any answer of a plugin.
func FuzzExecCredential(f *testing.F) {
	for _, status := range []string{"null", "{}", `{"token":"a"}`, `{"token":"a\n"}`, `{"clientCertificateData":"a","clientKeyData":"b"}`, `{"token":"a","expirationTimestamp":"x"}`} {
		f.Add(`{"kind":"ExecCredential","apiVersion":"` + execV1 + `","status":` + status + `}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, _, err := readExec([]byte(text), execV1)
		if (err == nil) != (c.header != "" || c.certificate != "") {
			t.Errorf("%+v, %v", c, err)
		}
		if strings.ContainsFunc(strings.TrimPrefix(c.header, "Bearer "), notInToken) {
			t.Errorf("breaks its header: %q", c.header)
		}
	})
}
