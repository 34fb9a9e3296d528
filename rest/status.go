// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxStatusSize is how much of the body of a refusal is read.
const maxStatusSize = 1 << 20

// statusError makes an error of an answer that is not 2xx. A body that is no Status is
// described by type and length and not quoted, whoever wrote it.
func statusError(resp *http.Response, body io.Reader, resource schema.GroupResource) error {
	data, err := io.ReadAll(io.LimitReader(body, maxStatusSize))
	retryAfter := parseRetryAfter(resp.Header.Get("Retry-After"))
	if status, ok := parseStatus(data); err == nil && ok && status.Status != metav1.StatusSuccess {
		if status.Code == 0 {
			status.Code = int32(resp.StatusCode)
		}
		if retryAfter > 0 {
			if status.Details == nil {
				status.Details = &metav1.StatusDetails{}
			}
			status.Details.RetryAfterSeconds = max(status.Details.RetryAfterSeconds, retryAfter)
		}
		return &apierrors.StatusError{ErrStatus: *status}
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	media = safeMedia(media)
	if err != nil {
		media = "no content type"
	}
	answer := fmt.Sprintf("HTTP %d without a Status: %s, %d bytes", resp.StatusCode, media, len(data))
	return apierrors.NewGenericServerResponse(resp.StatusCode, "get", resource, "", answer, int(retryAfter), true)
}

// parseStatus reads a metav1.Status. Without a kind it is one if it has a reason or a code.
func parseStatus(data []byte) (*metav1.Status, bool) {
	status := &metav1.Status{}
	if err := json.Unmarshal(data, status, lenient()); err != nil {
		return nil, false
	}
	if status.Kind == "Status" || status.Kind == "" && (status.Reason != "" || status.Code != 0) {
		return status, true
	}
	return nil, false
}

// parseRetryAfter reads seconds or a date, as RFC 9110 has it, section 10.2.3; 0: neither.
func parseRetryAfter(header string) int32 {
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		return int32(max(seconds, 0))
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	wait := time.Until(at) + time.Second - 1
	return int32(min(max(wait/time.Second, 0), 1<<30))
}
