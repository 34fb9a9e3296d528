// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// warnedBy lists and watches twice, and returns what was warned of.
func warnedBy(t *testing.T, headers ...string) []string {
	t.Helper()
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header()["Warning"] = headers
		if req.URL.Query().Get("watch") != "" {
			answer(403, "application/json", `{"kind":"Status","status":"Failure","code":403,"reason":"Forbidden"}`)(w, req)
			return
		}
		answerJSON(typed)(w, req)
	})
	var told []string
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL, OnWarning: func(ctx context.Context, warning string) {
		if ctx == nil {
			t.Error("no context")
		}
		told = append(told, warning)
	}})
	for range 2 {
		if _, _, err := collect(t.Context(), client); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Watch(t.Context(), metav1.ListOptions{}); err == nil {
			t.Fatal("a watch that was refused")
		}
	}
	return told
}

func TestWarnings(t *testing.T) {
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf(`299 - "number %d"`, i))
	}
	long := strings.Repeat("ä", 400)
	for name, row := range map[string]struct{ headers, want []string }{
		"none":          {nil, nil},
		"one":           {[]string{`299 - "v1 is deprecated"`}, []string{"v1 is deprecated"}},
		"several":       {[]string{`299 - "a", 299 host "b \"c\""`, `299 - "d" "Wed, 21 Oct 2015 07:28:00 GMT"`, `299 - "a"`}, []string{"a", `b "c"`, "d"}},
		"other codes":   {[]string{`110 - "stale"`, `199 - "misc"`}, nil},
		"no form":       {[]string{`deprecated`, `299 "x"`, ``, `299 - "y"`}, []string{"y"}},
		"not printable": {[]string{"299 - \"a\u202ec\u200b\u00a0\"", "299 - \"a\tb\"", "299 - \"\xff\""}, []string{"a\ufffdc\ufffd\ufffd"}},
		"too many":      {many, nil},
		"too long":      {[]string{`299 - "` + long + `"`}, []string{strings.Repeat("ä", 254) + "…"}},
	} {
		got := warnedBy(t, row.headers...)
		if name == "too many" {
			if len(got) != 32 || got[31] != "number 31" {
				t.Errorf("%s: %d: %q", name, len(got), got)
			}
			continue
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
		for _, text := range got {
			if len(text) > 512 || !utf8.ValidString(text) {
				t.Errorf("%s: %d bytes: %q", name, len(text), text)
			}
		}
	}
}

// Where nobody asks for them, warnings are logged, once.
func TestWarningsAreLogged(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Warning", `299 - "v1 is deprecated"`)
		answerJSON(typed)(w, req)
	})
	var out bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL})
	for range 3 {
		if _, _, err := collect(ctx, client); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), `resource="secrets" warning="v1 is deprecated"`); n != 1 || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%d times:\n%s", n, &out)
	}
}
