// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func wantDiscreet(t testing.TB, err error) {
	t.Helper()
	for _, form := range markerForms {
		if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, form) {
			t.Errorf("content in an error: %s", text)
		}
	}
}

func wantReason(t testing.TB, err error, reason metav1.StatusReason, code int32) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != reason || status.Status().Code != code {
		t.Errorf("want %s and %d: %v", reason, code, err)
	}
}

func list(items string) string {
	return `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[` + items + `]}`
}

// What a server may answer with 200 in place of a list.
func TestListThatIsNone(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(marker))
	secret := `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","uid":"u"},"data":{"x":"` + encoded + `"}}`
	deep := strings.Repeat(`{"a":`, 20000) + strings.Repeat(`}`, 20000)
	for name, row := range map[string]struct {
		body string
		want error
	}{
		"nothing":                 {"", io.ErrUnexpectedEOF},
		"a string":                {`"` + marker + `"`, informer.ErrNotAList},
		"an array":                {`["` + marker + `"]`, informer.ErrNotAList},
		"null":                    {`null`, informer.ErrNotAList},
		"an empty object":         {`{}`, informer.ErrNotAList},
		"a single object":         {secret, informer.ErrNotAList},
		"one with items":          {`{"items":[],"kind":"Shop","metadata":{"name":"` + marker + `"}}`, informer.ErrNotAList},
		"items of another type":   {`{"kind":"SecretList","items":{"a":"` + marker + `"}}`, informer.ErrNotAList},
		"metadata of another":     {`{"kind":"SecretList","metadata":["` + marker + `"],"items":[]}`, informer.ErrNotAList},
		"kind of another type":    {`{"kind":{"a":"` + marker + `"},"metadata":{}}`, informer.ErrNotAList},
		"kind that is content":    {`{"kind":"` + marker + `","metadata":{}}`, informer.ErrNotAList},
		"a Table":                 {`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":[],"rows":[{"cells":["` + marker + `"]}]}`, informer.ErrTable},
		"a Table, sorted":         {`{"apiVersion":"meta.k8s.io/v1","columnDefinitions":[],"kind":"Table","metadata":{},"rows":[]}`, informer.ErrTable},
		"a good Status":           {`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`, informer.ErrNotAList},
		"no JSON":                 {`hello ` + marker, rest.ErrMalformed},
		"truncated":               {list(secret)[:120], io.ErrUnexpectedEOF},
		"truncated at the end":    {strings.TrimSuffix(list(secret), "}"), io.ErrUnexpectedEOF},
		"malformed between":       {`{"kind":"SecretList","` + marker + `"}`, rest.ErrMalformed},
		"malformed item":          {list(`{"metadata":{"name":"a"},"data":{"x":` + marker + `}}`), rest.ErrMalformed},
		"malformed string":        {list(`{"metadata":{"name":"a"},"data":{"x":"` + marker + "\n" + `"}}`), rest.ErrMalformed},
		"more than a list":        {list(secret) + secret, rest.ErrMalformed},
		"items twice":             {`{"kind":"SecretList","items":[` + secret + `],"items":[` + secret + `]}`, rest.ErrMalformed},
		"nested too deep":         {list(deep), rest.ErrMalformed},
		"item without metadata":   {list(`{"kind":"Secret","data":{"x":"` + encoded + `"}}`), rest.ErrNoIdentity},
		"item with null metadata": {list(`{"metadata":null}`), rest.ErrNoIdentity},
		"item without name":       {list(`{"metadata":{"uid":"` + marker + `"}}`), rest.ErrNoIdentity},
		"name that is a number":   {list(`{"metadata":{"name":5,"labels":{"a":"` + marker + `"}}}`), rest.ErrNoIdentity},
		"version that is none":    {list(`{"metadata":{"name":"a","resourceVersion":{"a":"` + marker + `"}}}`), rest.ErrNoIdentity},
		"item that is a string":   {list(`"` + marker + `"`), rest.ErrNoIdentity},
		"item that is null":       {list(`null`), rest.ErrNoIdentity},
		"item that is a list":     {list(`[["` + marker + `"]]`), rest.ErrNoIdentity},
		"large item":              {list(`{"metadata":{"name":"a"},"data":{"x":"` + strings.Repeat(marker, 10000) + `"}}`), rest.ErrItemTooLarge},
		"item just too large":     {list(`{"metadata":{"name":"a"},"data":{"x":"` + strings.Repeat("A", 99970) + `"}}`), rest.ErrItemTooLarge},
		"large metadata":          {`{"kind":"SecretList","metadata":{"continue":"` + strings.Repeat(marker, 10000) + `"}}`, rest.ErrItemTooLarge},
		"large white space":       {`{"kind":"SecretList",` + strings.Repeat(" ", 300000) + `"items":[]}`, rest.ErrItemTooLarge},
		"large unknown member":    {`{"kind":"SecretList","` + marker + `":["` + strings.Repeat(`",[],"`, 100000) + `"],"items":[]}`, rest.ErrItemTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, answerJSON(row.body))
			config := rest.Config{BaseURL: server.URL, MaxItemSize: 100_000}
			check := func(err error) {
				t.Helper()
				if !errors.Is(err, row.want) {
					t.Errorf("want %v: %v", row.want, err)
				}
				if err != nil && !strings.HasPrefix(err.Error(), "list "+server.URL+"/api/v1/secrets: ") {
					t.Errorf("does not name operation and source: %v", err)
				}
				wantDiscreet(t, err)
			}
			_, _, err := collect(t.Context(), newClient[*Secret](t, config))
			check(err)
			_, err = newClient[*unstructured.Unstructured](t, config).List(t.Context(), metav1.ListOptions{})
			check(err)
		})
	}
}

// An item that is known to be who it is fails alone.
func TestItemThatDoesNotDecode(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(marker))
	for name, fields := range map[string]string{
		"number":     `"count":"` + marker + `"`,
		"range":      `"count":123456789012345678901234567890`,
		"base64":     `"data":{"` + marker + `":"!` + encoded + `"}`,
		"time":       `"when":"` + marker + `"`,
		"map":        `"data":"` + encoded + `"`,
		"bool":       `"ready":"` + marker + `"`,
		"part":       `"parts":[{"label":{"` + marker + `":{"zebra":1}}}]`,
		"labels":     ``,
		"any number": `"free":{"` + marker + `":1e999}`,
	} {
		t.Run(name, func(t *testing.T) {
			labels := `{}`
			if fields == "" {
				labels, fields = `["`+marker+`"]`, `"count":1`
			}
			bad := `{"metadata":{"name":"bad","namespace":"n","uid":"u9","resourceVersion":"9","labels":` + labels + `},` + fields + `}`
			server := serve(t, answerJSON(list(itemA+","+bad+","+itemB)))
			client := newClient[*Secret](t, rest.Config{BaseURL: server.URL})
			objects, _, err := collect(t.Context(), client)
			if err != nil || len(objects) != 3 {
				t.Fatal(len(objects), err)
			}
			u, ok := objects[1].(*informer.Undecodable)
			if !ok || u.Name != "bad" || u.Namespace != "n" || u.UID != "u9" || u.ResourceVersion != "9" {
				t.Fatalf("%#v", objects[1])
			}
			wantDiscreet(t, u.Err)
			_, err = client.List(t.Context(), metav1.ListOptions{})
			var objectError *informer.ObjectError
			if !errors.As(err, &objectError) || objectError.Key != "n/bad" {
				t.Errorf("whole list: %v", err)
			}
			wantDiscreet(t, err)
		})
	}
}

func TestUndecodableNamesTheField(t *testing.T) {
	server := serve(t, answerJSON(list(`{"metadata":{"name":"bad"},"parts":[{"name":"x"},{"label":{"`+marker+`":5}}]}`)))
	objects, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
	if err != nil {
		t.Fatal(err)
	}
	if got := objects[0].(*informer.Undecodable).Err.Error(); !strings.Contains(got, `"/parts/1/label/*"`) || !strings.Contains(got, "number for Go string") {
		t.Error(got)
	}
}

func TestRefusals(t *testing.T) {
	status := func(reason string, code int) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"said so","reason":%q,"code":%d}`, reason, code)
	}
	for name, row := range map[string]struct {
		code        int
		contentType string
		body        string
		reason      metav1.StatusReason
		want        string
	}{
		"401":                   {401, "application/json", status("Unauthorized", 401), metav1.StatusReasonUnauthorized, "said so"},
		"403":                   {403, "application/json", status("Forbidden", 403), metav1.StatusReasonForbidden, "said so"},
		"404":                   {404, "application/json", status("NotFound", 404), metav1.StatusReasonNotFound, "said so"},
		"410":                   {410, "application/json", status("Expired", 410), metav1.StatusReasonExpired, "said so"},
		"404 of another path":   {404, "text/plain", "404 page not found " + marker, metav1.StatusReasonNotFound, "could not find"},
		"502 HTML":              {502, "text/html", "<html>" + marker, metav1.StatusReasonInternalError, "text/html, "},
		"503 without body":      {503, "", "", metav1.StatusReasonServiceUnavailable, ""},
		"403 HTML":              {403, "text/html; charset=utf-8", "<html>" + marker, metav1.StatusReasonForbidden, "text/html, "},
		"500 malformed":         {500, "application/json", `{"kind":"Status","` + marker, metav1.StatusReasonInternalError, "application/json, "},
		"500 with a good":       {500, "application/json", `{"kind":"Status","status":"Success"}`, metav1.StatusReasonInternalError, ""},
		"500 with a Secret":     {500, "application/json", `{"kind":"Secret","data":{"a":"` + marker + `"}}`, metav1.StatusReasonInternalError, ""},
		"302 to nowhere":        {304, "text/html", "", metav1.StatusReasonUnknown, ""},
		"Status without a code": {409, "application/json", `{"kind":"Status","status":"Failure","reason":"Conflict"}`, metav1.StatusReasonConflict, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, answer(row.code, row.contentType, row.body))
			client := newClient[*Secret](t, rest.Config{BaseURL: server.URL})
			_, _, err := collect(t.Context(), client)
			wantReason(t, err, row.reason, int32(row.code))
			if !strings.HasPrefix(err.Error(), "list "+server.URL+"/api/v1/secrets: ") || !strings.Contains(err.Error(), row.want) {
				t.Error(err)
			}
			wantDiscreet(t, err)
			_, err = client.Watch(t.Context(), metav1.ListOptions{})
			wantReason(t, err, row.reason, int32(row.code))
			wantDiscreet(t, err)
		})
	}
}

func TestStatusWith200(t *testing.T) {
	for _, body := range []string{
		`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"said so","reason":"Expired","code":410}`,
		`{"apiVersion":"v1","code":410,"kind":"Status","message":"said so","metadata":{},"reason":"Expired","status":"Failure"}`,
	} {
		server := serve(t, answerJSON(body))
		_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
		wantReason(t, err, metav1.StatusReasonExpired, 410)
	}
}

func TestRetryAfter(t *testing.T) {
	for header, row := range map[string]struct{ body, want string }{
		"5":                             {"", "5"},
		"7":                             {`{"kind":"Status","status":"Failure","reason":"TooManyRequests","code":429}`, "7"},
		"2":                             {`{"kind":"Status","status":"Failure","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":9}}`, "9"},
		"-1":                            {"", "0"},
		"soon":                          {"", "0"},
		"Mon, 02 Jan 2006 15:04:05 GMT": {"", "0"},
	} {
		server := serve(t, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Retry-After", header)
			answer(429, "application/json", row.body)(w, req)
		})
		_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
		wantReason(t, err, metav1.StatusReasonTooManyRequests, 429)
		if seconds, _ := apierrors.SuggestsClientDelay(err); fmt.Sprint(seconds) != row.want {
			t.Errorf("Retry-After %s: %d s, %v", header, seconds, err)
		}
	}
}

func TestHTMLWith200(t *testing.T) {
	server := serve(t, answer(200, "text/html; charset=utf-8", "<html>log in, "+marker))
	_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
	if !errors.Is(err, rest.ErrContentType) || !strings.Contains(err.Error(), "text/html") {
		t.Error(err)
	}
	wantDiscreet(t, err)
}

func TestNoServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	client := newClient[*Secret](t, rest.Config{BaseURL: server.URL})
	_, _, err := collect(t.Context(), client)
	if !errors.Is(err, syscall.ECONNREFUSED) || !strings.HasPrefix(err.Error(), "list "+server.URL) {
		t.Error(err)
	}
	_, err = client.Watch(t.Context(), metav1.ListOptions{LabelSelector: "selector=" + "kept"})
	if !errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(err.Error(), "kept") {
		t.Error(err)
	}
}

func TestWrongCA(t *testing.T) {
	server := httptest.NewUnstartedServer(answerJSON(typed))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client
	server.StartTLS()
	defer server.Close()
	_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		t.Error(err)
	}
}

func TestGzipThatIsNone(t *testing.T) {
	cut := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			recorded := httptest.NewRecorder()
			zip(answerJSON(list(strings.Repeat(itemA+",", 50)+itemB)))(recorded, req)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(recorded.Body.Bytes()[:n])
		}
	}
	garbage := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, strings.Repeat(marker, 10))
	}
	unknown := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, marker)
	}
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		want    error
	}{
		"garbage":       {garbage, rest.ErrMalformed},
		"truncated":     {cut(100), io.ErrUnexpectedEOF},
		"no checksum":   {cut(30), io.ErrUnexpectedEOF},
		"other of them": {unknown, rest.ErrContentType},
	} {
		server := serve(t, row.handler)
		_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v", name, err)
		}
		wantDiscreet(t, err)
	}
}

// A small body that would be 1 GB is given up at the limit.
func TestGzipBomb(t *testing.T) {
	var sent int
	server := serve(t, zip(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"SecretList","items":[{"metadata":{"name":"a"},"data":{"x":"`)
		piece := []byte(strings.Repeat("A", 1<<20))
		for sent = 0; sent < 1024 && req.Context().Err() == nil; sent++ {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL, MaxItemSize: 1 << 20}))
	if !errors.Is(err, rest.ErrItemTooLarge) {
		t.Error(err)
	}
}
