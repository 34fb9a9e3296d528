// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// marker is content that must not get out, whatever goes wrong, and in no form.
const marker = "zebra-quagga"

var markerForms = []string{
	marker, "quagga", base64.StdEncoding.EncodeToString([]byte(marker)),
	strings.Trim(fmt.Sprint([]byte(marker)), "[]"), fmt.Sprintf("%x", marker), fmt.Sprintf("%#v", []byte(marker)),
}

// outlets is all that a mirror says: its log at the highest verbosity, also that of
// goroutines without a context, its hook, traces, waits and Status.
type outlets struct{ *capture }

func newOutlets(t *testing.T) *outlets {
	o := &outlets{new(capture)}
	state := klog.CaptureState()
	t.Cleanup(state.Restore)
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL", "v": "10", "one_output": "true"} {
		if err := flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	klog.SetOutput(o)
	return o
}

// say writes values in the ways that programs print them.
func (o *outlets) say(values ...any) {
	for _, v := range values {
		fmt.Fprintf(o, "%v %+v %q\n", v, v, fmt.Sprint(v))
		var panicked *informer.PanicError
		if err, ok := v.(error); ok && errors.As(err, &panicked) {
			fmt.Fprintln(o, "panic at", panicked.Key) // the value is what a program asks for by name
		}
	}
}

func (o *outlets) trace() *informer.Trace {
	return &informer.Trace{
		ListStart:  func(source string) { o.say("list", source) },
		ListPage:   func(source string, items int, remaining int64) { o.say(source, items, remaining) },
		ListEnd:    func(source string, items int, _ time.Duration, err error) { o.say(source, items, err) },
		WatchStart: func(source, version string) { o.say(source, version) },
		WatchEnd:   func(source, reason string, events int, _ time.Duration) { o.say(source, reason, events) },
		Event:      func(source, event, key, version string) { o.say(source, event, key, version) },
		Relist:     func(source, reason string) { o.say(source, reason) },
		HistoryBreak: func(source, from, to string) {
			o.say(source, from, to)
		},
		Backoff:      func(source string, delay time.Duration, err error) { o.say(source, delay, err) },
		HandlerStart: func(handler, key string) { o.say(handler, key) },
		HandlerEnd:   func(handler, key string, _ time.Duration) { o.say(handler, key) },
	}
}

// check fails t if the marker is in the text, or if what is wanted is not.
func (o *outlets) check(t *testing.T, want string) {
	t.Helper()
	text := o.String()
	for _, form := range markerForms {
		if at := strings.Index(text, form); at >= 0 {
			t.Errorf("%q got out: …%s…", form, text[max(0, at-200):min(len(text), at+100)])
		}
	}
	if !strings.Contains(text, want) {
		t.Errorf("%q is missing in:\n%s", want, text)
	}
}

// runMarked mirrors a source for a minute, with handlers that panic.
func runMarked[T informer.Object](t *testing.T, source informer.ListerWatcher, options informer.Options[T], o *outlets) {
	t.Helper()
	options.Name = "secrets"
	options.OnError = func(_ context.Context, err error) { o.say(err) }
	options.Traces = []*informer.Trace{o.trace()}
	mirror := informer.New(source, options)
	if _, err := mirror.AddHandler(informer.HandlerFunc[T](func(_ context.Context, c informer.Change[T]) {
		if strings.HasSuffix(c.Key, "panic") {
			panic(fmt.Errorf("an object: %+v", c.Object()))
		}
		if strings.HasSuffix(c.Key, "panics") {
			panic(c)
		}
	}), informer.HandlerOptions{Name: "marked", RecoverPanics: true}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- mirror.Run(ctx) }()
	short, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	o.say(mirror.WaitForSync(short), mirror.WaitForResourceVersion(short, "1000"))
	_, err := mirror.WaitFor(short, "ns/bad", func(_ T, exists bool) bool { return false })
	o.say(err)
	status, err := json.Marshal(mirror.Status())
	o.say(string(status), mirror.Status(), err)
	o.say(<-done)
}

// marked are ways in which a typed source goes wrong over an object that holds the marker.
func marked() map[string]struct {
	source func() *script
	want   string
} {
	sealed := &secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", ResourceVersion: "11"}, Data: marker}
	loose := &unstructured.Unstructured{Object: map[string]any{
		"kind": "Secret", "apiVersion": "v1", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"k": marker},
	}}
	mixed := &informer.ObjectList[informer.Object]{ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []informer.Object{sealed, loose, parse("a@9")}}
	table := &metav1.Table{Rows: []metav1.TableRow{{Cells: []any{marker}, Object: runtime.RawExtension{Raw: []byte(marker)}}}}
	stream := func(steps ...any) func() *script {
		return func() *script { return newScript().list(podList("10", "a@9 {"+marker+"}")).watch(steps...) }
	}
	list := func(answers ...any) func() *script {
		return func() *script { return newScript().list(answers...) }
	}
	event := func(kind watch.EventType, obj runtime.Object) watch.Event {
		return watch.Event{Type: kind, Object: obj}
	}
	initial := func(steps ...any) func() *script {
		return func() *script {
			s := newScript().list(podList("10")).watch(steps...)
			s.watchList = true
			return s
		}
	}
	return map[string]struct {
		source func() *script
		want   string
	}{
		"transform, event":        {stream("+bad@11 {" + marker + "}"), "ns/bad"},
		"transform, first list":   {list(podList("10", "bad@9 {"+marker+"}")), "ns/bad"},
		"transform, initial":      {initial("+bad@9 {"+marker+"}", "BM*@10"), "ns/bad"},
		"transform, relist":       {func() *script { return stream("ERR410")().list(podList("20", "bad@11 {"+marker+"}")) }, "ns/bad"},
		"transform, DELETED":      {stream("+bad@11 {fine}", "-bad@12 {"+marker+"}"), "DELETED"},
		"transform renames":       {stream("+moved@11 {" + marker + "}"), "changed namespace or name"},
		"index function":          {stream("+unindexed@11 {" + marker + "}"), "ns/unindexed"},
		"index function panics":   {stream("+index-panics@11 {" + marker + "}"), "ns/index-panics"},
		"handler panics, error":   {stream("+panic@11 {" + marker + "}"), "panic at ns/panic"},
		"handler panics, change":  {stream("+panics@11 {" + marker + "}"), "panic at ns/panics"},
		"event of another type":   {stream(event(watch.Modified, sealed)), "another type"},
		"unstructured event":      {stream(event(watch.Added, loose)), "another type"},
		"list of other types":     {list(mixed), "another type"},
		"a single object":         {list(sealed), "not a list"},
		"a single unstructured":   {list(loose), "not a list"},
		"a Table for a list":      {list(table), "Table"},
		"a Table in an event":     {stream(event(watch.Added, table)), "Table"},
		"ERROR with a secret":     {stream(event(watch.Error, sealed)), "ERROR event"},
		"ERROR with unstructured": {stream(event(watch.Error, loose)), "ERROR event"},
		"bookmark with a secret":  {stream(event(watch.Bookmark, sealed)), "BOOKMARK"},
		"bookmark with a Table":   {stream(event(watch.Bookmark, table)), "bookmark of type"},
		"unknown event":           {stream(event("ODD", parse("a@11 {"+marker+"}"))), "unknown type"},
		"no name":                 {stream("+@11 {" + marker + "}"), "without a name"},
		"undecodable":             {stream(event(watch.Added, undecodable("bad"))), "ns/bad"},
		"initial, other type":     {initial(event(watch.Added, sealed), "BM*@10"), "another type"},
		"initial, no name":        {initial("+@9 {"+marker+"}", "BM*@10"), "without a name"},
		"initial, cut":            {initial("+a@9 {"+marker+"}", "close"), "end marker"},
		"older object":            {stream("~a@3 {" + marker + "}"), "ns/a at 3"},
		"recreated, bad":          {stream("+bad@11/u1 {fine}", "~bad@12/u2 {"+marker+"}"), "ns/bad"},
	}
}

func undecodable(name string) *informer.Undecodable {
	u := &informer.Undecodable{Err: errors.New("does not fit")}
	u.Namespace, u.Name, u.ResourceVersion = "ns", name, "11"
	u.Annotations = map[string]string{"last-applied": marker}
	return u
}

// markedOptions fail for objects by their names.
func markedOptions() informer.Options[*pod] {
	return informer.Options[*pod]{
		Transform: func(p *pod) (*pod, error) {
			switch {
			case p.Name == "bad" && p.Spec == marker:
				return nil, errors.New("no")
			case p.Name == "moved":
				p.Name = "elsewhere"
			}
			return p, nil
		},
		Indexers: informer.Indexers[*pod]{"spec": func(p *pod) ([]string, error) {
			switch p.Name {
			case "unindexed":
				return nil, errors.New("no index")
			case "index-panics":
				panic(p)
			}
			return []string{p.Spec}, nil
		}},
	}
}

// R29: no content in a log, an error, a trace or Status, whatever goes wrong.
func caseR29(t *testing.T) {
	for name, test := range marked() {
		for _, quarantine := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", quarantine ", quarantine), func(t *testing.T) {
				o := newOutlets(t)
				synctest.Test(t, func(t *testing.T) {
					options := markedOptions()
					options.Quarantine = quarantine
					runMarked(t, test.source(), options, o)
				})
				o.check(t, test.want)
			})
		}
	}
	for name, answer := range markedBodies() {
		t.Run("HTTP, "+name, func(t *testing.T) { runMarkedHTTP(t, answer) })
	}
}

// restSecret is a Secret as rest decodes it.
type restSecret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              map[string][]byte `json:"data,omitempty"`
	Count             int               `json:"count,omitempty"`
}

func (s *restSecret) DeepCopyObject() runtime.Object { out := *s; return &out }

// httpAnswer is what a server says to lists and watches.
type httpAnswer struct {
	code        int
	contentType string
	list, watch string
}

// markedBodies are answers over HTTP with the marker in them.
func markedBodies() map[string]httpAnswer {
	const head = `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[`
	encoded := base64.StdEncoding.EncodeToString([]byte(marker))
	good := `{"metadata":{"namespace":"ns","name":"a","uid":"u","resourceVersion":"9"},"data":{"k":"` + encoded + `"}}`
	bodies := map[string]httpAnswer{}
	list := func(name, items string) {
		bodies["list, "+name] = httpAnswer{200, "application/json", head + items, ""}
	}
	stream := func(name, events string) {
		bodies["watch, "+name] = httpAnswer{200, "application/json", head + good + "]}", events}
	}
	for name, item := range map[string]string{
		"plain in place of base64": `{"metadata":{"namespace":"ns","name":"bad","resourceVersion":"11"},"data":{"k":"` + marker + `"}}`,
		"a string for a number":    `{"metadata":{"namespace":"ns","name":"bad","resourceVersion":"11"},"count":"` + marker + `"}`,
		"a string for data":        `{"metadata":{"namespace":"ns","name":"bad","resourceVersion":"11"},"data":"` + marker + `"}`,
		"a name twice":             `{"metadata":{"namespace":"ns","name":"bad","resourceVersion":"11"},"data":{"` + marker + `":"","` + marker + `":""}}`,
		"no name":                  `{"metadata":{"namespace":"ns"},"data":{"k":"` + encoded + `"}}`,
		"no metadata":              `{"data":{"k":"` + encoded + `"}}`,
		"malformed":                `{"metadata":{"name":"bad"},"data":{"k":"` + marker + `"x}}`,
		"bad escape":               `{"metadata":{"name":"bad"},"data":{"k":"` + marker + `\q"}}`,
		"bad UTF-8":                `{"metadata":{"name":"bad"},"data":{"k":"` + marker + "\xff\xfe" + `"}}`,
		"too large":                `{"metadata":{"name":"bad"},"data":{"k":"` + strings.Repeat(encoded, 300) + `"}}`,
		"an array":                 `["` + marker + `"]`,
		"a string":                 `"` + marker + `"`,
		"a label of another kind":  `{"metadata":{"name":"bad","labels":{"l":["` + marker + `"]}}}`,
		"a name of another kind":   `{"metadata":{"name":["` + marker + `"]}}`,
	} {
		list(name, item+"]}")
		list(name+", cut", item[:len(item)-3])
		stream(name, `{"type":"ADDED","object":`+item+"}\n")
		stream(name+", DELETED", `{"type":"DELETED","object":`+item+"}\n")
		stream(name+", ERROR", `{"type":"ERROR","object":`+item+"}\n")
		stream(name+", BOOKMARK", `{"type":"BOOKMARK","object":`+item+"}\n")
		stream(name+", type last", `{"object":`+item+`,"type":"ODD"}`+"\n")
		stream(name+", cut", `{"type":"ADDED","object":`+item[:len(item)-3])
	}
	for _, code := range []int{200, 301, 400, 403, 404, 500, 502} {
		for _, contentType := range []string{"application/json", "text/html", "text/plain", ""} {
			for i, body := range []string{good, marker, `{"kind":"Status","data":"` + marker + `"}`, `{"kind":"Table","rows":[{"cells":["` + marker + `"]}]}`} {
				bodies[fmt.Sprint(code, " ", contentType, " ", i)] = httpAnswer{code, contentType, body, ""}
			}
		}
	}
	return bodies
}

// RoundTrip answers without a network, so that it can be on fake time.
func (a httpAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	response := &http.Response{
		StatusCode: a.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {a.contentType}}, Body: io.NopCloser(strings.NewReader(a.list)),
	}
	if r.URL.Query().Get("watch") != "" {
		response.Body = io.NopCloser(strings.NewReader(a.watch))
	}
	return response, nil
}

func runMarkedHTTP(t *testing.T, answer httpAnswer) {
	o := newOutlets(t)
	client, err := rest.New[*restSecret](rest.Config{
		BaseURL: "http://server", HTTPClient: &http.Client{Transport: answer}, MaxItemSize: 2000,
	}, rest.Resource{Version: "v1", Resource: "secrets"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		options := informer.Options[*restSecret]{}
		options.InitialEventsTimeout = -1 // lists, and then watches
		runMarked(t, client, options, o)
	})
	o.check(t, "secrets")
}
