// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// call is a request on its way through the server.
type call struct {
	verb      string
	resource  *served
	namespace string
	name      string

	writer   http.ResponseWriter
	request  *http.Request
	compress bool
	partial  bool // PartialObjectMetadata was asked for
}

// needsNamespace reports whether the verb is about one object, or the path names a
// namespace: only lists and watches of a namespaced resource can do without one.
func (c *call) needsNamespace() bool {
	return c.namespace != "" || (c.verb != VerbList && c.verb != VerbWatch)
}

// serve answers; an error is one that has not been answered yet.
func (c *call) serve() error {
	var served bool
	if c.partial, served = negotiate(c.request.Header.Values("Accept")); !served {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
			Message: "406: Not Acceptable\n\nAvailable representations: application/json, application/json;stream=watch",
		}}
	}
	switch c.verb {
	case VerbList, VerbWatch:
		var options metav1.ListOptions
		query := c.request.URL.Query()
		if err := metav1.Convert_url_Values_To_v1_ListOptions(&query, &options, nil); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		if c.verb == VerbList {
			return c.serveList(options)
		}
		return c.serveWatch(options)
	case "get":
		found, err := c.resource.engine.get(c.namespace, c.name)
		if err != nil {
			return err
		}
		return c.writeEntry(http.StatusOK, found)
	case "delete":
		return c.serveDelete()
	}
	return c.serveWrite()
}

// negotiate picks the first representation of the Accept headers that is served: JSON,
// whole or as metadata.
func negotiate(accept []string) (partial, served bool) {
	clauses := strings.Split(strings.Join(accept, ","), ",")
	if len(clauses) == 1 && strings.TrimSpace(clauses[0]) == "" {
		return false, true
	}
	for _, clause := range clauses {
		media, params, err := mime.ParseMediaType(clause)
		if err != nil || (media != "application/json" && media != "application/*" && media != "*/*") {
			continue
		}
		switch as := params["as"]; {
		case as == "":
			return false, true
		case strings.HasPrefix(as, "PartialObjectMetadata") && params["g"] == metav1.GroupName && params["v"] == "v1":
			return true, true
		}
	}
	return false, false
}

// serveWrite answers create and update.
func (c *call) serveWrite() error {
	obj, err := c.readObject()
	if err != nil {
		return err
	}
	write, code := c.resource.engine.update, http.StatusOK
	if c.verb == "create" {
		code = http.StatusCreated
		write = func(obj informer.Object) (*entry, error) { return c.resource.engine.create(obj, false) }
	}
	stored, err := write(obj)
	if err != nil {
		return err
	}
	return c.writeEntry(code, stored)
}

// maxBody is what kube-apiserver reads of a request at most.
const maxBody = 3 << 20

func (c *call) readBody() ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.writer, c.request.Body, maxBody))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return data, err
}

// readObject decodes the object of a write and checks that it is meant for this path.
func (c *call) readObject() (informer.Object, error) {
	if media, _, err := mime.ParseMediaType(c.request.Header.Get("Content-Type")); err == nil && media != "application/json" {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
			Message: fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: application/json, not %s", media),
		}}
	}
	data, err := c.readBody()
	if err != nil {
		return nil, err
	}
	obj := c.resource.engine.newObject()
	if err := decodeInto(data, obj); err != nil {
		return nil, apierrors.NewBadRequest("the object provided cannot be decoded: " + err.Error())
	}
	if u, is := obj.(*unstructured.Unstructured); is && u.Object == nil {
		return nil, apierrors.NewBadRequest("the object provided is empty")
	}
	if kind := obj.GetObjectKind().GroupVersionKind(); kind.Kind != "" && kind != c.resource.kind() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is a %v, not a %v", kind, c.resource.kind()))
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(c.namespace)
	}
	if obj.GetNamespace() != c.namespace {
		return nil, apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if c.name != "" && obj.GetName() != c.name {
		return nil, apierrors.NewBadRequest("the name of the object does not match the name on the URL")
	}
	return obj, nil
}

// serveDelete answers with a Status, or with the object if finalizers hold it.
func (c *call) serveDelete() error {
	data, err := c.readBody()
	if err != nil {
		return err
	}
	var options metav1.DeleteOptions
	if len(data) > 0 {
		if err := json.Unmarshal(data, &options); err != nil {
			return apierrors.NewBadRequest("the options provided cannot be decoded: " + err.Error())
		}
	}
	var conditions metav1.Preconditions
	if options.Preconditions != nil {
		conditions = *options.Preconditions
	}
	last, err := c.resource.engine.remove(c.namespace, c.name, conditions)
	if err != nil {
		return err
	}
	if len(last.GetFinalizers()) > 0 {
		return c.writeEntry(http.StatusOK, newEntryOf(last))
	}
	gr := c.resource.engine.groupResource()
	writeJSON(c.writer, http.StatusOK, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: c.name, Group: gr.Group, Kind: gr.Resource, UID: last.GetUID()},
	})
	return nil
}

// encode returns an object as it is served on its own or in an event.
func (c *call) encode(e *entry, version uint64) (prefix, rest []byte, err error) {
	if c.partial {
		rest, err = json.Marshal(e.metadata(version))
		return nil, rest, err
	}
	data, err := e.jsonAt(version)
	if err != nil {
		return nil, nil, err
	}
	return c.resource.prefix, data[1:], nil
}

func (c *call) writeEntry(code int, e *entry) error {
	prefix, rest, err := c.encode(e, 0)
	if err != nil {
		return errInternal(err.Error())
	}
	c.writer.Header().Set("Content-Type", "application/json")
	c.writer.WriteHeader(code)
	_, _ = c.writer.Write(prefix)
	_, _ = c.writer.Write(append(rest[:len(rest):len(rest)], '\n'))
	return nil
}

// writeError answers with the Status of an error. One without a Status stands for a server
// that cannot be reached: the connection is closed without an answer.
func writeError(w http.ResponseWriter, err error) {
	status, is := statusOf(err)
	if !is {
		panic(http.ErrAbortHandler)
	}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	code := int(status.Code)
	if code == 0 {
		code = http.StatusInternalServerError
	}
	writeJSON(w, code, status)
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(data, '\n'))
}
