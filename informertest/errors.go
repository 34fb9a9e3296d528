// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errTooLarge is the answer of kube-apiserver to a version that it has not reached; its
// watch cache, and not etcd, says to come back after a second.
func errTooLarge(asked, current uint64, cached bool) *apierrors.StatusError {
	retryAfter := 0
	if cached {
		retryAfter = 1
	}
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, current), retryAfter)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

// errExpired is the answer to a version that is no longer in the history.
func errExpired(asked, floor uint64) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", asked, floor))
}

// errTokenExpired is the answer to a continue token of an expired version. As that of
// kube-apiserver does, it carries a token that goes on at the newest version.
func errTokenExpired(start string) *apierrors.StatusError {
	err := apierrors.NewResourceExpired("the continue token is too old for a consistent list: start again, " +
		"or go on with the token of this answer at the newest version")
	err.ErrStatus.ListMeta.Continue = token{latest: true, start: start}.String()
	return err
}

// errInternal is what kube-apiserver makes of an error that it has no status for: a code
// and no reason.
func errInternal(message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Message: message,
	}}
}

func errNoName(kind schema.GroupKind) *apierrors.StatusError {
	return apierrors.NewInvalid(kind, "", field.ErrorList{
		field.Required(field.NewPath("metadata", "name"), "name or generateName is required"),
	})
}

// statusOf returns the Status that the error is or wraps.
func statusOf(err error) (metav1.Status, bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return metav1.Status{}, false
	}
	out := status.Status()
	out.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return out, true
}
