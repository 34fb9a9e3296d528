// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

func statusOf(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

func TestClassify(t *testing.T) {
	cause := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 504, Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}},
	}}}
	for name, test := range map[string]struct {
		err  error
		want class
	}{
		"400":                    {statusOf(400, "", ""), classRefused},
		"401":                    {statusOf(401, "", ""), classDenied},
		"403":                    {statusOf(403, "", ""), classDenied},
		"404":                    {statusOf(404, "", ""), classRefused},
		"405":                    {statusOf(405, "", ""), classRefused},
		"406":                    {statusOf(406, "", ""), classRefused},
		"408":                    {statusOf(408, "", ""), classUnanswered},
		"410":                    {statusOf(410, "", ""), classExpired},
		"415":                    {statusOf(415, "", ""), classRefused},
		"422":                    {statusOf(422, "", ""), classRefused},
		"429":                    {statusOf(429, "", ""), classUnanswered},
		"500":                    {statusOf(500, "", ""), classServer},
		"502":                    {statusOf(502, "", ""), classUnanswered},
		"503":                    {statusOf(503, "", ""), classUnanswered},
		"504":                    {statusOf(504, "", ""), classUnanswered},
		"409":                    {statusOf(409, "", ""), classServer},
		"expired by reason":      {statusOf(0, metav1.StatusReasonExpired, ""), classExpired},
		"gone by reason":         {statusOf(0, metav1.StatusReasonGone, ""), classExpired},
		"forbidden by reason":    {statusOf(0, metav1.StatusReasonForbidden, ""), classDenied},
		"invalid by reason":      {statusOf(0, metav1.StatusReasonInvalid, ""), classRefused},
		"expired, another code":  {statusOf(500, metav1.StatusReasonExpired, ""), classExpired},
		"nothing":                {statusOf(0, "", ""), classServer},
		"too large by cause":     {cause, classTooLarge},
		"too large by message":   {statusOf(504, "", "Timeout: Too large resource version: 9, current: 5"), classTooLarge},
		"too large, wrapped":     {fmt.Errorf("list pods: %w", cause), classTooLarge},
		"client's own timeout":   {statusOf(500, "", "x (Client.Timeout or context cancellation while reading body)"), classEnded},
		"refused connection":     {&url.Error{Op: "Get", URL: "http://x", Err: syscall.ECONNREFUSED}, classUnanswered},
		"reset":                  {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, classUnanswered},
		"no such host":           {&net.DNSError{Err: "no such host"}, classUnanswered},
		"unknown authority":      {x509.UnknownAuthorityError{}, classUnanswered},
		"EOF":                    {io.EOF, classUnanswered},
		"broken in the middle":   {fmt.Errorf("list: %w", io.ErrUnexpectedEOF), classUnanswered},
		"deadline of the client": {context.DeadlineExceeded, classUnanswered},
		"anything else":          {errors.New("what"), classServer},
		"not a list":             {fmt.Errorf("%w: x", ErrNotAList), classServer},
		"sink":                   {&sinkError{errors.New("full")}, classSink},
		"sink, with a status":    {&sinkError{statusOf(410, "", "")}, classSink},
		"no name":                {fmt.Errorf("%w: %w", errUnappliable, errNoName), classUnappliable},
		"stalled":                {fmt.Errorf("%w: x", ErrStalled), classStalled},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classify(test.err); got != test.want {
				t.Errorf("%v, want %v", got.reason(), test.want.reason())
			}
		})
	}
}

func TestAfterWatch(t *testing.T) {
	failed := errors.New("failed")
	rewatch := step{action: actRewatch}
	backoffThenWatch := step{action: actRewatch, failure: true, report: failed}
	for name, test := range map[string]struct {
		before streak
		o      outcome
		after  streak
		want   step
	}{
		"long and silent":      {streak{strikes: 1}, outcome{class: classEnded, lived: time.Second}, streak{strikes: 1}, rewatch},
		"short, with an event": {streak{strikes: 2}, outcome{class: classEnded, seen: true, progress: true}, streak{}, rewatch},
		"short and silent":     {streak{}, outcome{class: classEnded}, streak{strikes: 1}, step{action: actRewatch, failure: true, report: ErrNoProgress}},
		"third short and silent": {streak{strikes: 2}, outcome{class: classEnded}, streak{},
			step{action: actRelist, failure: true, report: ErrNoProgress}},
		"no answer, however often": {streak{strikes: 2}, outcome{class: classUnanswered, err: failed}, streak{strikes: 2}, backoffThenWatch},
		"500":                      {streak{}, outcome{class: classServer, err: failed}, streak{strikes: 1}, backoffThenWatch},
		"third 500":                {streak{strikes: 2}, outcome{class: classServer, err: failed}, streak{}, step{action: actRelist, failure: true, report: failed}},
		"third 500 after progress": {streak{strikes: 2}, outcome{class: classServer, progress: true, err: failed}, streak{strikes: 1}, backoffThenWatch},
		"403":                      {streak{strikes: 2}, outcome{class: classDenied, err: failed}, streak{strikes: 2}, backoffThenWatch},
		"404":                      {streak{}, outcome{class: classRefused, err: failed}, streak{}, step{action: actRelist, failure: true, report: failed}},
		"410":                      {streak{}, outcome{class: classExpired, err: failed}, streak{gone: 1}, step{action: actRelist}},
		"410 after progress":       {streak{gone: 2}, outcome{class: classExpired, progress: true, err: failed}, streak{gone: 1}, step{action: actRelist}},
		"410 after the list for a 410": {streak{gone: 1}, outcome{class: classExpired, err: failed}, streak{gone: 2},
			step{action: actRelist, failure: true, consistent: true, report: failed}},
		"too large": {streak{}, outcome{class: classTooLarge, err: failed}, streak{ahead: 1}, step{action: actRelist, consistent: true, report: failed}},
		"too large after the list for it": {streak{ahead: 1}, outcome{class: classTooLarge, err: failed}, streak{ahead: 2},
			step{action: actRelist, failure: true, consistent: true, report: failed}},
		"stall":           {streak{}, outcome{class: classStalled, err: failed}, streak{}, step{action: actRewatch, report: failed}},
		"bookmark wanted": {streak{strikes: 1}, outcome{class: classDrawn}, streak{strikes: 1}, rewatch},
		"cannot be applied": {streak{}, outcome{class: classUnappliable, seen: true, progress: true, err: failed}, streak{},
			step{action: actRelist, failure: true, report: failed}},
		"sink": {streak{}, outcome{class: classSink, err: failed}, streak{}, step{action: actRelist, failure: true, report: failed}},
	} {
		t.Run(name, func(t *testing.T) {
			after, got := afterWatch(test.before, test.o)
			if after != test.after || got != test.want {
				t.Errorf("%+v, %+v; want %+v, %+v", after, got, test.after, test.want)
			}
		})
	}
	_, third := afterWatch(streak{gone: 2}, outcome{class: classExpired, err: failed})
	if !errors.Is(third.report, errShortWindow) || !errors.Is(third.report, failed) || !third.failure || !third.consistent {
		t.Errorf("third 410: %+v", third)
	}
}

func TestAfterList(t *testing.T) {
	at := func(version string, match metav1.ResourceVersionMatch) metav1.ListOptions {
		return metav1.ListOptions{ResourceVersion: version, ResourceVersionMatch: match}
	}
	code := func(code int32) error { return statusOf(code, "", "") }
	const match = metav1.ResourceVersionMatchNotOlderThan
	for name, test := range map[string]struct {
		err   error
		asked metav1.ListOptions
		want  listStep
	}{
		"410 at R":                {code(410), at("7", match), listStep{again: true, consistent: true}},
		"410 at zero":             {code(410), at("0", ""), listStep{again: true, consistent: true}},
		"410, consistent":         {code(410), at("", ""), listStep{consistent: true}},
		"too large":               {statusOf(504, "", "Too large resource version"), at("7", match), listStep{again: true, consistent: true}},
		"match refused":           {code(400), at("7", match), listStep{again: true, noMatch: true}},
		"refused without a match": {code(400), at("7", ""), listStep{}},
		"refused at zero":         {code(400), at("0", ""), listStep{}},
		"match refused with 422":  {code(422), at("7", match), listStep{again: true, noMatch: true}},
		"refused by reason":       {statusOf(0, metav1.StatusReasonInvalid, ""), at("7", match), listStep{again: true, noMatch: true}},
		"not served":              {code(404), at("7", match), listStep{}},
		"media type":              {code(415), at("7", match), listStep{}},
		"403":                     {code(403), at("7", match), listStep{}},
		"no answer":               {code(503), at("7", match), listStep{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := afterList(test.err, test.asked); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAfterInitial(t *testing.T) {
	code := func(code int32) error { return statusOf(code, "", "") }
	for name, test := range map[string]struct {
		end   initialEnd
		tries int
		want  initialVerdict
	}{
		"silence":                {initialEnd{opened: true, err: errInitialSilence}, 1, initialUnserved},
		"ended":                  {initialEnd{opened: true, seen: true, err: errInitialEnded}, 1, initialAgain},
		"ended three times":      {initialEnd{opened: true, err: errInitialEnded}, 3, initialUnserved},
		"no answer, three times": {initialEnd{err: io.EOF}, 3, initialAgain},
		"429, three times":       {initialEnd{err: code(http.StatusTooManyRequests)}, 3, initialAgain},
		"403":                    {initialEnd{err: code(http.StatusForbidden)}, 1, initialAgain},
		"400":                    {initialEnd{err: code(http.StatusBadRequest)}, 1, initialRefused},
		"405":                    {initialEnd{err: code(http.StatusMethodNotAllowed)}, 1, initialRefused},
		"422 in the stream":      {initialEnd{opened: true, err: code(http.StatusUnprocessableEntity)}, 1, initialRefused},
		"422 after an event":     {initialEnd{opened: true, seen: true, err: code(http.StatusUnprocessableEntity)}, 1, initialAgain},
		"501":                    {initialEnd{err: code(http.StatusNotImplemented)}, 1, initialRefused},
		"500 on the request":     {initialEnd{err: code(http.StatusInternalServerError)}, 1, initialAgain},
		"500 in the stream":      {initialEnd{opened: true, err: code(http.StatusInternalServerError)}, 1, initialRefused},
		"410 at R":               {initialEnd{asked: "7", err: code(http.StatusGone)}, 1, initialRestart},
		"410, consistent":        {initialEnd{err: code(http.StatusGone)}, 1, initialAgain},
		"410, consistent, again": {initialEnd{err: code(http.StatusGone)}, 3, initialUnserved},
	} {
		t.Run(name, func(t *testing.T) {
			if got := afterInitial(test.end, test.tries); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestFirstVersion(t *testing.T) {
	for name, test := range map[string]struct {
		options            ReflectorOptions
		synced, consistent bool
		list, watchList    string
	}{
		"first":                    {ReflectorOptions{}, false, false, "0", ""},
		"first, not older than":    {ReflectorOptions{NotOlderThan: "5"}, false, false, "5", "5"},
		"first, most recent":       {ReflectorOptions{MostRecent: true}, false, false, "", ""},
		"refused":                  {ReflectorOptions{NotOlderThan: "5"}, false, true, "", ""},
		"relist":                   {ReflectorOptions{NotOlderThan: "5"}, true, false, "9", "9"},
		"relist after a refusal":   {ReflectorOptions{}, true, true, "", ""},
		"relist, most recent once": {ReflectorOptions{MostRecent: true}, true, false, "9", "9"},
	} {
		t.Run(name, func(t *testing.T) {
			list, watchList := firstVersion(&test.options, test.synced, test.consistent, "9")
			if list != test.list || watchList != test.watchList {
				t.Errorf("list at %q, watch-list at %q; want %q, %q", list, watchList, test.list, test.watchList)
			}
		})
	}
}

func TestOlder(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"9", "10", true}, {"10", "9", false}, {"9", "9", false},
		{"", "9", false}, {"9", "", false}, {"0", "9", false}, {"x", "y", false},
	} {
		if got := older(test.a, test.b); got != test.want {
			t.Errorf("older(%q, %q) = %v", test.a, test.b, got)
		}
	}
}

// Versions are ordered here as package resourceversion orders them.
func TestOlderAgrees(t *testing.T) {
	versions := []string{"", "0", "1", "9", "10", "09", "99", "100", "1 ", "+1", "-1", "1.0", "x", "1x", "x1", "9/", "9:", "1\xff", "\u0661", strings.Repeat("9", 30), "1" + strings.Repeat("0", 30)}
	for _, a := range versions {
		for _, b := range versions {
			order, err := resourceversion.CompareResourceVersion(a, b)
			if got, want := older(a, b), err == nil && order < 0; got != want {
				t.Errorf("older(%q, %q) = %v, want %v", a, b, got, want)
			}
			if got, want := ordered(a) && ordered(b), err == nil; got != want {
				t.Errorf("%q and %q are ordered: %v, want %v", a, b, got, want)
			}
		}
	}
}

func TestStallsAt(t *testing.T) {
	opened := time.Unix(1000, 0)
	for name, test := range map[string]struct {
		s    stream
		want time.Duration // after the open
	}{
		"silent from the start":          {stream{quiet: opened}, 6 * time.Minute},
		"event just before the deadline": {stream{quiet: opened.Add(5*time.Minute + 20*time.Second)}, 6 * time.Minute},
		"event after the deadline":       {stream{quiet: opened.Add(5*time.Minute + 50*time.Second)}, 6*time.Minute + 20*time.Second},
		"two beats are no rhythm":        {stream{quiet: opened, gaps: 2, longest: time.Minute}, 6 * time.Minute},
		"a rhythm":                       {stream{quiet: opened.Add(time.Minute), gaps: 3, longest: time.Minute}, 5 * time.Minute},
		"a fast rhythm":                  {stream{quiet: opened.Add(time.Minute), gaps: 9, longest: 30 * time.Second}, 5 * time.Minute},
		"a slow rhythm":                  {stream{quiet: opened.Add(time.Minute), gaps: 3, longest: 2 * time.Minute}, 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			test.s.opened, test.s.timeout = opened, 5*time.Minute+30*time.Second
			if got := test.s.stallsAt().Sub(opened); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
