// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// query is a list or watch whose options have been checked and read.
type query struct {
	namespace string // empty: all
	labels    labels.Selector
	fields    fields.Selector

	version  uint64
	given    bool // a version was given, be it 0
	match    metav1.ResourceVersionMatch
	limit    int64 // 0: none
	page     *token
	initial  *bool
	bookmark bool
}

// newQuery refuses what kube-apiserver refuses, with its own validation.
func newQuery(namespace string, options metav1.ListOptions, watch, watchList bool) (*query, error) {
	checked := internalversion.ListOptions{
		Watch:                watch,
		ResourceVersion:      options.ResourceVersion,
		ResourceVersionMatch: options.ResourceVersionMatch,
		Continue:             options.Continue,
		SendInitialEvents:    options.SendInitialEvents,
	}
	internalversion.SetListOptionsDefaults(&checked, watchList)
	if errs := validation.ValidateListOptions(&checked, watchList); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	q := &query{
		namespace: namespace,
		given:     options.ResourceVersion != "",
		match:     options.ResourceVersionMatch,
		limit:     max(options.Limit, 0),
		initial:   checked.SendInitialEvents,
		bookmark:  options.AllowWatchBookmarks,
	}
	if err := q.parseSelectors(options); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := q.parseVersion(options, watch); err != nil {
		return nil, err
	}
	return q, nil
}

// parseSelectors reads the selectors; fields are the two that every resource has.
func (q *query) parseSelectors(options metav1.ListOptions) (err error) {
	if q.labels, err = labels.Parse(options.LabelSelector); err != nil {
		return err
	}
	if q.fields, err = fields.ParseSelector(options.FieldSelector); err != nil {
		return err
	}
	for _, requirement := range q.fields.Requirements() {
		if requirement.Field != "metadata.name" && requirement.Field != "metadata.namespace" {
			return fmt.Errorf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", requirement.Field)
		}
	}
	return nil
}

// parseVersion reads the version and, for a list, the continue token.
func (q *query) parseVersion(options metav1.ListOptions, watch bool) error {
	if q.given {
		version, err := strconv.ParseUint(options.ResourceVersion, 10, 64)
		switch {
		case err != nil && watch:
			return errInternal(fmt.Sprintf("resourceVersion: Invalid value: %q: not a number", options.ResourceVersion))
		case err != nil:
			return apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %q", options.ResourceVersion))
		}
		q.version = version
	}
	if watch || options.Continue == "" {
		return nil
	}
	page, err := parseToken(options.Continue)
	if err != nil {
		return apierrors.NewBadRequest("invalid continue token: " + err.Error())
	}
	if q.version != 0 {
		return apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	q.page = &page
	return nil
}

// selective reports whether a selector is set; the server then does not count what remains.
func (q *query) selective() bool { return !q.labels.Empty() || !q.fields.Empty() }

// matches reports whether the object exists and is one that was asked for.
func (q *query) matches(e *entry) bool {
	switch {
	case e == nil, q.namespace != "" && q.namespace != e.namespace:
		return false
	case !q.selective():
		return true
	}
	return q.labels.Matches(e.labels) &&
		q.fields.Matches(fields.Set{"metadata.name": e.name, "metadata.namespace": e.namespace})
}

// token is the content of a continue token: the version of the list, or that it goes on at
// the newest one, and the last key of the page before.
type token struct {
	version uint64
	latest  bool
	start   string
}

const tokenPrefix = "informertest/v1:"

// String encodes the token. Clients must not look into it.
func (t token) String() string {
	version := "latest"
	if !t.latest {
		version = strconv.FormatUint(t.version, 10)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + version + ":" + t.start))
}

func parseToken(text string) (token, error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	rest, ours := strings.CutPrefix(string(data), tokenPrefix)
	version, start, whole := strings.Cut(rest, ":")
	if err != nil || !ours || !whole {
		return token{}, fmt.Errorf("continue key is not valid")
	}
	if version == "latest" {
		return token{latest: true, start: start}, nil
	}
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return token{}, fmt.Errorf("continue key is not valid: version %q", version)
	}
	return token{version: number, start: start}, nil
}
