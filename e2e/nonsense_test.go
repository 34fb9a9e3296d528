// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/backoff"
	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// meddler stands before the server, and changes requests or answers.
type meddler struct {
	path   string                     // appended to that of the collection
	query  string                     // instead of the client's
	method string                     // instead of GET
	accept string                     // instead of what asks for lists of metadata
	answer func(*http.Response) error // changes the answer; nil: none
}

const (
	acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	acceptTable    = "application/json;as=Table;g=meta.k8s.io;v=v1"
)

// TestNonsense: a server that is there and answers with something else than a list of objects.
func TestNonsense(t *testing.T) {
	t.Parallel()
	objects := configMaps(t, cluster.Namespace(t))
	objects.create(t, "a", "front")
	for name, row := range map[string]struct {
		meddler meddler
		rest    func(error) bool // what the error has to be over rest/; over client-go it is one at all
		unseen  bool             // client-go's client of metadata makes an empty list of it
	}{
		"a single object": {
			meddler: meddler{path: "/a", accept: "application/json"}, rest: wraps(informer.ErrNotAList), unseen: true,
		},
		"a Table": {meddler: meddler{accept: acceptTable}, rest: wraps(informer.ErrTable)},
		"a Status": {
			meddler: meddler{method: http.MethodDelete, path: "/a", query: "dryRun=All", accept: "application/json"},
			rest:    wraps(informer.ErrNotAList),
		},
		"HTML":        {meddler: meddler{answer: replaced("text/html", "<html>log in</html>")}, rest: wraps(rest.ErrContentType)},
		"no JSON":     {meddler: meddler{answer: replaced("application/json", "{]")}, rest: wraps(rest.ErrMalformed)},
		"half a list": {meddler: meddler{answer: halved}, rest: wraps(io.ErrUnexpectedEOF)},
		"no metadata": {meddler: meddler{answer: edited(`"metadata":{"name"`, `"nodata":{"name"`)}, rest: wraps(rest.ErrNoIdentity)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			how := informer.ReflectorOptions{InitialEventsTimeout: -1} // It is the list that is meddled with.
			way := access{url: row.meddler.serve(t), token: cluster.Token, namespace: objects.namespace, resource: configMapResource}
			t.Run("rest", func(t *testing.T) { checkTrouble(t, way.rest(t), how, row.rest) })
			if !row.unseen {
				t.Run("client-go", func(t *testing.T) { checkTrouble(t, way.clientGo(t), how, anyError) })
			}
		})
	}
}

// TestItemTooLarge: one object is larger than the limit, over a list and over a watch-list.
func TestItemTooLarge(t *testing.T) {
	t.Parallel()
	objects := configMaps(t, cluster.Namespace(t))
	objects.create(t, "a", "front")
	objects.update(t, "a", strings.Repeat("x", 4096))
	for name, how := range map[string]informer.ReflectorOptions{"list": {InitialEventsTimeout: -1}, "watch-list": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := restConfig()
			config.MaxItemSize = 2048
			source := must(rest.New[*partialObject](config, rest.Resource{
				Version: "v1", Resource: "configmaps", Namespace: objects.namespace,
			}))(t)
			checkTrouble(t, source, how, func(err error) bool { return strings.Contains(err.Error(), rest.ErrItemTooLarge.Error()) })
		})
	}
}

// TestTokenFileVanishes: without the file nothing can be asked, and the wait names it. Once it was
// there, the last token goes on being used, and connections are made with it.
func TestTokenFileVanishes(t *testing.T) {
	t.Parallel()
	way := proxied(t, cluster)
	tokenFile := copyOf(t, cluster.TokenFile)
	objects := configMaps(t, cluster.Namespace(t))
	objects.create(t, "a", "front")
	objects.create(t, "b", "front")
	config := restConfig()
	config.BaseURL, config.BearerTokenFile = "https://"+way.Addr, tokenFile
	remove(t, tokenFile)
	source := must(rest.New[*unstructured.Unstructured](config, rest.Resource{
		Version: "v1", Resource: "configmaps", Namespace: objects.namespace,
	}))(t)
	options := informer.Options[*unstructured.Unstructured]{}
	options.Backoff = backoff.Options{Initial: 100 * time.Millisecond, Max: 2 * time.Second}
	m := startMirror(t, source, asLister(objects.List), options)
	m.story.await(t, "the file", func() bool { return m.story.told(wraps(os.ErrNotExist)) })
	gaveUp, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.WaitForSync(gaveUp); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), tokenFile) {
		t.Errorf("the wait ends with %v; want the file named", err)
	}
	write(t, tokenFile, cluster.Token)
	m.sync(t)

	remove(t, tokenFile)
	for range 3 {
		way.Cut()
		objects.update(t, "a", "unseen at first")
		objects.update(t, "a", "")
		m.converge(t, "a cut without a token file")
	}
	objects.delete(t, "b")
	m.converge(t, "a deletion without a token file")
	if m.story.told(apierrors.IsUnauthorized) {
		t.Errorf("a request went out without a token:\n%s", m.story)
	}
	m.story.short(t)
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func anyError(err error) bool { return err != nil }

func wraps(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// serve starts the meddler, and returns its address.
func (m meddler) serve(t *testing.T) string {
	t.Helper()
	target := must(url.Parse(cluster.URL))(t)
	meddling := httptest.NewServer(&httputil.ReverseProxy{
		Transport:      cluster.Client(t, cluster.Token).Transport,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target); m.rewrite(r.Out) },
		ModifyResponse: m.answer,
	})
	t.Cleanup(meddling.Close)
	return meddling.URL
}

func (m meddler) rewrite(request *http.Request) {
	request.Header.Del("Accept-Encoding") // The transport asks for gzip on its own account.
	request.Header.Set("Accept", acceptMetadata)
	if m.accept != "" {
		request.Header.Set("Accept", m.accept)
	}
	if m.method != "" {
		request.Method = m.method
	}
	request.URL.Path += m.path
	if m.path != "" {
		request.URL.RawQuery = m.query
	}
}

func replaced(contentType, body string) func(*http.Response) error {
	return func(response *http.Response) error {
		response.Header.Set("Content-Type", contentType)
		return setBody(response, []byte(body))
	}
}

func halved(response *http.Response) error {
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return setBody(response, content[:len(content)/2])
}

func edited(before, after string) func(*http.Response) error {
	return func(response *http.Response) error {
		content, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		return setBody(response, bytes.ReplaceAll(content, []byte(before), []byte(after)))
	}
}

func setBody(response *http.Response, content []byte) error {
	_ = response.Body.Close() // Its content is not wanted any more.
	response.Body = io.NopCloser(bytes.NewReader(content))
	response.ContentLength = int64(len(content))
	response.Header.Del("Content-Length")
	return nil
}
