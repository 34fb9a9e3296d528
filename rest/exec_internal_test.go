// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"strings"
	"testing"
	"time"
)

// What a plugin may answer, and what of it does not get out.
func TestReadExec(t *testing.T) {
	const content = "MARKER-zebra"
	const head = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":`
	for name, row := range map[string]struct{ answer, want string }{
		"nothing":         {"", "answer: "},
		"no JSON":         {content, "answer: "},
		"another kind":    {`{"kind":"Pod","apiVersion":"` + content + `"}`, "of kind Pod, and no ExecCredential"},
		"another version": {`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"` + content + `"}}`, "another apiVersion than"},
		"no status":       {`{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1"}`, "no status"},
		"empty":           {head + `{}}`, "neither token nor certificate"},
		"no token":        {head + `{"token":"` + content + `\n"}}`, "that no token has"},
		"another type":    {head + `{"token":["` + content + `"]}}`, `at "/status/token"`},
		"no time":         {head + `{"token":"` + content + `","expirationTimestamp":"` + content + `"}}`, `at "/status/expirationTimestamp"`},
		"half":            {head + `{"clientCertificateData":"` + content + `"}}`, "certificate without key"},
		"no certificate":  {head + `{"clientCertificateData":"` + content + `","clientKeyData":"` + content + `"}}`, "no certificate in it"},
	} {
		got, _, err := readExec([]byte(row.answer), execV1)
		if err == nil || !strings.HasPrefix(err.Error(), "answer: ") || !strings.Contains(err.Error(), row.want) || got != (credential{}) {
			t.Errorf("%s: want %q: %v", name, row.want, err)
		}
		if err != nil && strings.Contains(err.Error(), "zebra") {
			t.Errorf("%s: content in an error: %v", name, err)
		}
	}
	got, expires, err := readExec([]byte(head+`{"token":"a","expirationTimestamp":"2026-01-02T03:04:05Z","more":1}}`), execV1)
	if err != nil || got.header != "Bearer a" || !expires.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("%+v until %v, %v", got, expires, err)
	}
}
