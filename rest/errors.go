// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/textproto"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrNotInCluster is returned by InClusterConfig where the environment of a pod is missing.
var ErrNotInCluster = errors.New("rest: not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")

// What is wrong with a kubeconfig.
var (
	ErrNoKubeconfig = errors.New("rest: no kubeconfig")
	ErrKubeconfig   = errors.New("rest: kubeconfig") // its file, context and field follow
)

// What a server does not serve.
var (
	ErrResourceNotFound = errors.New("rest: server has no such resource")
	ErrNotListable      = errors.New("rest: resource cannot be listed")
)

// ErrListTimeout is the cause of a list that waited longer for the server than
// Config.ListTimeout allows.
var ErrListTimeout = errors.New("rest: server took longer than ListTimeout")

// errPluginCertificate cannot be known before the plugin has answered.
var errPluginCertificate = errors.New("rest: certificate of a credential plugin and HTTPClient exclude each other")

// What was wrong with an answer. A body that ends too soon is io.ErrUnexpectedEOF, and
// what is no list at all informer.ErrNotAList or informer.ErrTable.
var (
	ErrContentType  = errors.New("rest: answer is in no known encoding")            // by its header: HTML from a proxy
	ErrMalformed    = errors.New("rest: malformed answer")                          // not JSON, nested too deep, or not gzip
	ErrItemTooLarge = errors.New("rest: object larger than MaxItemSize")            // an item of a list, or an event
	ErrListTooLarge = errors.New("rest: answer larger than MaxListSize")            // decompressed
	ErrNoIdentity   = errors.New("rest: object without readable metadata.name")     // nothing can be concluded from it
	ErrNotAnObject  = errors.New("rest: a Status or a Table in place of an object") // as the object of an event
)

// ownError is an error of this package that passes through net/http.
type ownError struct{ error }

func (e ownError) Unwrap() error { return e.error }

var inQuotes = regexp.MustCompile(`"(\\.|[^"\\])*("|$)`)

// unquoting takes out of an error of net/http what the server sent, of which it quotes what
// it cannot read. An error that quotes nothing stays as it is, and so does one about a
// certificate, whose names are no content.
func unquoting(err error) error {
	var own ownError
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &own) || errors.As(err, &certificate) {
		return err
	}
	var protocol textproto.ProtocolError
	if errors.As(err, &protocol) {
		return errors.New("malformed header of HTTP")
	}
	text := err.Error()
	if bare := inQuotes.ReplaceAllString(text, "…"); bare != text {
		return errors.New(bare)
	}
	return err
}

// errSchema is an object that is sound JSON and does not fit its Go type.
var errSchema = errors.New("object does not fit its type")

// discreet rewrites an error of the decoder, which may quote values and names, so that it
// says what did not fit where, and holds nothing that a user wrote.
func discreet(t reflect.Type, err error) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return fmt.Errorf("%w %v", errSchema, t)
	}
	var b strings.Builder
	if semantic.JSONKind != 0 {
		fmt.Fprintf(&b, ": JSON %s", kindName(semantic.JSONKind))
	}
	if semantic.GoType != nil {
		fmt.Fprintf(&b, " for Go %v", semantic.GoType)
	}
	return fmt.Errorf("%w %v%s at %s, offset %d", errSchema, t, b.String(), safePointer(t, semantic.JSONPointer), semantic.ByteOffset)
}

// kindName is the word for a kind of JSON value.
func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	}
	return "null"
}

// safePointer keeps those parts of a JSON pointer that the Go type declares, and the
// indexes of arrays: a key of a map is content.
func safePointer(t reflect.Type, pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		shown := "*"
		switch {
		case t == nil:
		case t.Kind() == reflect.Struct:
			if field := fieldType(t, token); field != nil {
				t, shown = field, token
				break
			}
			t = nil
		case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
			if _, err := strconv.Atoi(token); err == nil {
				shown = token
			}
			t = t.Elem()
		case t.Kind() == reflect.Map:
			t = t.Elem()
		default:
			t = nil
		}
		b.WriteString("/" + shown)
	}
	return strconv.Quote(b.String())
}

// fieldType finds the type of the field with a JSON name, in embedded structs too.
func fieldType(t reflect.Type, name string) reflect.Type {
	for _, field := range reflect.VisibleFields(t) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name && field.IsExported() {
			return field.Type
		}
	}
	return nil
}

// safeKind is a kind for an error message, if it can be one.
func safeKind(kind string) string {
	odd := func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}
	switch {
	case kind == "":
		return "without kind"
	case len(kind) > 63 || strings.ContainsFunc(kind, odd):
		return "of unreadable kind"
	}
	return "of kind " + kind
}
