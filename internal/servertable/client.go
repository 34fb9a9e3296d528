// SPDX-License-Identifier: Apache-2.0

package servertable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	configMaps = "configmaps"
	events     = "events"

	// future is added to a version to get one that no server reaches during a test.
	future = 1_000_000_000

	defaultFailSafe = 5 * time.Minute
)

// object is what the rows read of a ConfigMap, of an Event and of a bookmark, and what they write.
type object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Data            map[string]string `json:"data,omitempty"`
	InvolvedObject  *reference        `json:"involvedObject,omitempty"`
}

// reference is what a server validates of an Event: that its namespace is the event's.
type reference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (o object) version() string { return o.Metadata.ResourceVersion }

// answer is the response to a request that is no watch. Status is filled where Code is not 2xx.
type answer struct {
	Code   int
	Header http.Header
	Meta   metav1.ListMeta
	Kind   string
	Items  []object
	Status metav1.Status
}

func (a answer) names() []string {
	names := make([]string, 0, len(a.Items))
	for _, item := range a.Items {
		names = append(names, item.Metadata.Name)
	}
	return names
}

// session is a row at work, in a namespace of its own.
type session struct {
	testing.TB
	target    Target
	namespace string
}

func newSession(t *testing.T, target Target) *session {
	return &session{TB: t, target: target, namespace: target.Namespace(t)}
}

// path of the collection, or of the object if name is not empty.
func (s *session) path(resource, name string) string {
	path := s.target.BaseURL + "/api/v1/namespaces/" + s.namespace + "/" + resource
	if name != "" {
		path += "/" + name
	}
	return path
}

// request sends a request and returns the response with a body that the caller reads.
func (s *session) request(method, url string, body any) *http.Response {
	s.Helper()
	failSafe := s.target.FailSafe
	if failSafe == 0 {
		failSafe = defaultFailSafe
	}
	ctx, cancel := context.WithTimeout(s.Context(), failSafe)
	s.Cleanup(cancel)
	content, err := json.Marshal(body)
	if err != nil {
		s.Fatalf("encode %s %s: %v", method, url, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(content))
	if err != nil {
		s.Fatalf("make request: %v", err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	response, err := s.target.Client.Do(request)
	if err != nil {
		s.Fatalf("%s %s: %v", method, url, err)
	}
	s.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// write sends an object, or nothing, and decodes the object of the answer.
func (s *session) write(method, url string, body any) object {
	s.Helper()
	response := s.request(method, url, body)
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatalf("read answer of %s %s: %v", method, url, err)
	}
	if response.StatusCode/100 != 2 {
		s.Fatalf("%s %s: %d %s", method, url, response.StatusCode, content)
	}
	var o object
	if err := json.Unmarshal(content, &o); err != nil {
		s.Fatalf("decode answer of %s %s: %v", method, url, err)
	}
	return o
}

// create makes an object with the label "row" and the data entry "value".
func (s *session) create(resource, name, value string) object {
	s.Helper()
	o := object{Metadata: metav1.ObjectMeta{Name: name, Labels: map[string]string{"row": value}}}
	if resource == events {
		o.InvolvedObject = &reference{Kind: "ConfigMap", Namespace: s.namespace, Name: name}
	} else {
		o.Data = map[string]string{"value": value}
	}
	return s.write(http.MethodPost, s.path(resource, ""), o)
}

// fill creates the objects, in the order of the names, and returns them.
func (s *session) fill(resource string, names ...string) []object {
	s.Helper()
	var objects []object
	for _, name := range names {
		objects = append(objects, s.create(resource, name, "one"))
	}
	return objects
}

// update gives the object another label and data entry and returns what the server made of it.
func (s *session) update(resource string, o object, value string) object {
	s.Helper()
	o.Metadata.Labels = map[string]string{"row": value}
	if resource != events {
		o.Data = map[string]string{"value": value}
	}
	return s.write(http.MethodPut, s.path(resource, o.Metadata.Name), o)
}

func (s *session) remove(resource, name string) {
	s.Helper()
	s.write(http.MethodDelete, s.path(resource, name), nil)
}

// get lists with the given query, such as "limit=2&resourceVersion=0".
func (s *session) get(resource, query string) answer {
	s.Helper()
	return s.getURL(s.path(resource, "") + "?" + query)
}

func (s *session) getURL(url string) answer {
	s.Helper()
	response := s.request(http.MethodGet, url, nil)
	content, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatalf("read answer of %s: %v", url, err)
	}
	got := answer{Code: response.StatusCode, Header: response.Header}
	if got.Code/100 != 2 {
		if err := json.Unmarshal(content, &got.Status); err != nil || got.Status.Kind != "Status" {
			s.Fatalf("%s: %d with %q, which is no Status: %v", url, got.Code, content, err)
		}
		return got
	}
	var list struct {
		Kind     string          `json:"kind"`
		Metadata metav1.ListMeta `json:"metadata"`
		Items    []object        `json:"items"`
	}
	if err := json.Unmarshal(content, &list); err != nil {
		s.Fatalf("decode list of %s: %v", url, err)
	}
	got.Kind, got.Meta, got.Items = list.Kind, list.Metadata, list.Items
	return got
}

// list is get for a request that has to be served.
func (s *session) list(resource, query string) answer {
	s.Helper()
	got := s.get(resource, query)
	if got.Code != http.StatusOK {
		s.Fatalf("list %s?%s: %d %s", resource, query, got.Code, got.Status.Message)
	}
	return got
}

// refuse checks that a list with the given query is answered with the code.
func (s *session) refuse(resource, query string, code int) answer {
	s.Helper()
	got := s.get(resource, query)
	if got.Code != code || (code != http.StatusOK && got.Status.Code != int32(code)) {
		s.Errorf("list %s?%s: %d with a Status of %d %q; want %d",
			resource, query, got.Code, got.Status.Code, got.Status.Message, code)
	}
	return got
}

// number reads a version. Both servers count up, which the rows rely on.
func (s *session) number(version string) uint64 {
	s.Helper()
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		s.Fatalf("resource version %q: %v", version, err)
	}
	return n
}

// after returns the version that is n above the given one.
func (s *session) after(version string, n uint64) string {
	s.Helper()
	return strconv.FormatUint(s.number(version)+n, 10)
}

// notOlder checks that version is not lower than floor.
func (s *session) notOlder(what, version, floor string) {
	s.Helper()
	if s.number(version) < s.number(floor) {
		s.Errorf("%s has version %s, which is older than %s", what, version, floor)
	}
}

// stream is an open watch.
type stream struct {
	*session
	decoder *json.Decoder
}

// event is one line of a watch. Status is filled where Type is ERROR, Object otherwise.
type event struct {
	Type   string
	Object object
	Status metav1.Status
}

func (e event) String() string {
	if e.Type == "ERROR" {
		return fmt.Sprintf("ERROR %d %s", e.Status.Code, e.Status.Message)
	}
	return fmt.Sprintf("%s %s@%s", e.Type, e.Object.Metadata.Name, e.Object.version())
}

// watch opens a watch, which has to be answered with 200, whatever follows in the stream.
func (s *session) watch(resource, query string) *stream {
	s.Helper()
	response := s.request(http.MethodGet, s.path(resource, "")+"?watch=true&"+query, nil)
	if response.StatusCode != http.StatusOK {
		content, _ := io.ReadAll(response.Body)
		s.Fatalf("watch %s?%s: %d %s", resource, query, response.StatusCode, content)
	}
	return &stream{session: s, decoder: json.NewDecoder(response.Body)}
}

// next returns the next event; false at the end of the stream.
func (w *stream) next() (event, bool) {
	w.Helper()
	var line struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := w.decoder.Decode(&line); errors.Is(err, io.EOF) {
		return event{}, false
	} else if err != nil {
		w.Fatalf("read watch: %v", err)
	}
	got := event{Type: line.Type}
	var into any = &got.Object
	if line.Type == "ERROR" {
		into = &got.Status
	}
	if err := json.Unmarshal(line.Object, into); err != nil {
		w.Fatalf("decode %s event: %v", line.Type, err)
	}
	return got, true
}

// want returns the next event, which has to be of the type and, unless name is empty, of the name.
func (w *stream) want(eventType, name string) event {
	w.Helper()
	got, ok := w.next()
	if !ok {
		w.Fatalf("the watch ended; want %s %s", eventType, name)
	}
	if got.Type != eventType || (name != "" && got.Object.Metadata.Name != name) {
		w.Fatalf("watch got %v; want %s %s", got, eventType, name)
	}
	return got
}

// rest returns all events up to the end of the stream.
func (w *stream) rest() []event {
	w.Helper()
	var all []event
	for {
		got, ok := w.next()
		if !ok {
			return all
		}
		all = append(all, got)
	}
}
