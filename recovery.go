// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// This file holds the decisions of recovery: pure functions from what happened to what
// is done about it. The loops of the reflector wait, ask here, and act.

// Numbers of the protocol and of the decisions.
const (
	shortStream     = time.Second      // a stream that ends sooner and showed nothing has failed
	healthyStream   = time.Minute      // a stream that lives so long is progress, also when silent
	watchPace       = time.Second      // least time between two opens of a watch
	relistPace      = 3 * time.Second  // least time between two relists that ask for no delay
	openTimeout     = time.Minute      // for the answer to a watch: what kube-apiserver gives a request
	listTimeout     = 5 * time.Minute  // without an item or a page of a list
	maxStrikes      = 3                // failures in a row without progress, and the list is trusted more
	maxInitialTries = 3                // ends of a watch-list before its marker, and a list is asked for
	refusalMemory   = 30 * time.Minute // how long a refused watch-list is not asked for again
	poisonPause     = 5 * time.Minute  // a list that an object failed is not repeated sooner
	drawTimeout     = 4 * time.Second  // timeoutSeconds at which kube-apiserver sends a bookmark after 2 s
	drawPause       = 5 * time.Second  // least time between two such watches
	wantPause       = time.Minute      // least time between two lists for the sake of a wait
)

// class is what an error of a source, or the end of its stream, means for recovery.
type class int

const (
	classEnded       class = iota // the stream came to an end without an error
	classStalled                  // the stream is silent past all bounds
	classDrawn                    // this side ended the stream, to draw a bookmark
	classUnanswered               // nobody answered, or somebody answered that nobody can
	classServer                   // the server, or what it sent, is broken
	classDenied                   // 401, 403
	classRefused                  // the request itself is refused
	classExpired                  // the version is too old
	classTooLarge                 // the version is newer than the server
	classUnappliable              // an event that cannot be applied
	classSink                     // the sink failed
	classWanted                   // a version is waited for that no event and no bookmark brings
	classAlarm                    // a version contradicts what was seen before
	classResharded                // another part of the collection is wanted
)

// reason is the name of a class in Status and in traces.
func (c class) reason() string {
	return [...]string{
		"ended", "stalled", "bookmark wanted", "no answer", "server error", "denied",
		"refused", "expired", "version too large", "object", "sink", "version wanted", "older version", "shard",
	}[c]
}

// classify says what an error of a request or a stream means.
func classify(err error) class {
	var sink *sinkError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &sink):
		return classSink
	case errors.Is(err, errAlarm), errors.Is(err, errBroken):
		return classAlarm
	case errors.Is(err, errUnappliable):
		return classUnappliable
	case errors.Is(err, ErrStalled):
		return classStalled
	case errors.As(err, &status):
		return classifyStatus(status.Status())
	case isUnanswered(err):
		return classUnanswered
	}
	return classServer
}

// classifyStatus goes by code, and by reason where a fake or a proxy left the code out.
func classifyStatus(status metav1.Status) class {
	if isTooLarge(status) {
		return classTooLarge
	}
	if isClientTimeout(status) {
		return classEnded
	}
	code := status.Code
	if code == 0 {
		code = codeOfReason[status.Reason]
	}
	switch code {
	case http.StatusGone:
		return classExpired
	case http.StatusUnauthorized, http.StatusForbidden:
		return classDenied
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusNotAcceptable, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return classRefused
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return classUnanswered
	}
	if status.Reason == metav1.StatusReasonExpired {
		return classExpired
	}
	return classServer
}

var codeOfReason = map[metav1.StatusReason]int32{
	metav1.StatusReasonExpired:              http.StatusGone,
	metav1.StatusReasonGone:                 http.StatusGone,
	metav1.StatusReasonUnauthorized:         http.StatusUnauthorized,
	metav1.StatusReasonForbidden:            http.StatusForbidden,
	metav1.StatusReasonBadRequest:           http.StatusBadRequest,
	metav1.StatusReasonInvalid:              http.StatusUnprocessableEntity,
	metav1.StatusReasonNotFound:             http.StatusNotFound,
	metav1.StatusReasonMethodNotAllowed:     http.StatusMethodNotAllowed,
	metav1.StatusReasonNotAcceptable:        http.StatusNotAcceptable,
	metav1.StatusReasonUnsupportedMediaType: http.StatusUnsupportedMediaType,
	metav1.StatusReasonTimeout:              http.StatusGatewayTimeout,
	metav1.StatusReasonServerTimeout:        http.StatusServiceUnavailable,
	metav1.StatusReasonServiceUnavailable:   http.StatusServiceUnavailable,
	metav1.StatusReasonTooManyRequests:      http.StatusTooManyRequests,
}

// isTooLarge knows today's servers by the cause, and old ones, and those that a proxy
// cuts the causes from, by the message.
func isTooLarge(status metav1.Status) bool {
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Type == metav1.CauseTypeResourceVersionTooLarge {
				return true
			}
		}
	}
	return strings.Contains(status.Message, "Too large resource version")
}

// isClientTimeout knows the ERROR event that a client makes of its own timeout.
func isClientTimeout(status metav1.Status) bool {
	return strings.Contains(status.Message, "Client.Timeout or context cancellation while reading body") ||
		strings.Contains(status.Message, "net/http: request canceled (Client.Timeout exceeded")
}

// isUnanswered reports whether the request or stream broke on its way.
func isUnanswered(err error) bool {
	var netError net.Error
	var urlError *url.Error
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &netError) || errors.As(err, &urlError) ||
		errors.As(err, &certificate) || errors.As(err, &authority) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errNoAnswer) || errors.Is(err, net.ErrClosed)
}

// streak is what recovery remembers from one outcome to the next.
type streak struct {
	strikes int // failures in a row without progress that make a relist
	gone    int // 410 in a row, without progress between them
	ahead   int // "too large" in a row, without progress between them
	alarms  int // versions that went back, without a healthy stream between them
	// falseAlarms counts the versions that went back in a healthy collection.
	falseAlarms int
}

// outcome is how a watch ended.
type outcome struct {
	class    class
	lived    time.Duration // since it was opened
	asked    time.Duration // the timeout that the server was asked for
	seen     bool          // an event or a bookmark came
	progress bool          // seen, R moved, or it lived a minute
	err      error         // nil for an end without one
}

// action is what is done after an outcome.
type action int

const (
	actRewatch action = iota // open the watch again, at R
	actRelist                // end the round; the next begins with a list
)

// step is a decision of recovery.
type step struct {
	action     action
	failure    bool  // goes through the backoff
	consistent bool  // the next list is at ""
	report     error // told to the hook; nil: nothing to tell
}

// afterWatch is the decision table for a watch that could not be opened, or has ended.
func afterWatch(s streak, o outcome) (streak, step) {
	if o.progress {
		s = streak{falseAlarms: s.falseAlarms, alarms: s.alarms}
	}
	if o.lived >= healthyStream {
		s.alarms = 0
	}
	switch o.class {
	case classEnded:
		if o.seen || o.lived >= shortStream {
			return s, step{action: actRewatch}
		}
		o.err = ErrNoProgress
		return strike(s, o)
	case classWanted, classResharded:
		return s, step{action: actRelist}
	case classDrawn:
		return s, step{action: actRewatch}
	case classStalled:
		return s, step{action: actRewatch, report: o.err}
	case classUnanswered, classDenied:
		return s, step{action: actRewatch, failure: true, report: o.err}
	case classExpired:
		return afterExpired(s, o)
	case classTooLarge:
		s.ahead++ // once more right after a list at "", and the server is at odds with itself
		return s, step{action: actRelist, consistent: true, failure: s.ahead > 1, report: o.err}
	case classAlarm:
		s.alarms++
		return s, step{action: actRelist, consistent: true, failure: s.alarms > 1, report: o.err}
	case classRefused, classUnappliable, classSink:
		return s, step{action: actRelist, failure: true, report: o.err}
	}
	return strike(s, o)
}

// strike re-watches twice, and asks for a list the third time.
func strike(s streak, o outcome) (streak, step) {
	s.strikes++
	if s.strikes < maxStrikes {
		return s, step{action: actRewatch, failure: true, report: o.err}
	}
	s.strikes = 0
	return s, step{action: actRelist, failure: true, report: o.err}
}

// afterExpired lists at R, at once. If the watch after that list has expired too, the
// list came from a cache that is behind the history, and the next one has to be
// consistent; the third time the history is shorter than a list takes.
func afterExpired(s streak, o outcome) (streak, step) {
	s.gone++
	switch {
	case s.gone == 1:
		return s, step{action: actRelist}
	case s.gone%maxStrikes == 0:
		return s, step{action: actRelist, failure: true, consistent: true, report: fmt.Errorf("%w: %w", errShortWindow, o.err)}
	}
	return s, step{action: actRelist, failure: true, consistent: true, report: o.err}
}

// listStep is a decision about a list that went wrong.
type listStep struct {
	again      bool // at once, with what the step says
	consistent bool // at ""
	noMatch    bool // the source does not know resourceVersionMatch: without it and without limit
}

// afterList is the decision table for a list at a version that could not be had. What
// is not done again at once is a failure.
func afterList(err error, asked metav1.ListOptions) listStep {
	c := classify(err)
	versioned := asked.ResourceVersion != "" && asked.ResourceVersion != "0"
	switch {
	case c == classExpired || c == classTooLarge || c == classAlarm:
		return listStep{again: asked.ResourceVersion != "", consistent: true}
	case refusesOptions(err) && versioned && asked.ResourceVersionMatch != "":
		return listStep{again: true, noMatch: true}
	}
	return listStep{}
}

// refusesOptions reports whether a server does not know what it was asked for. Other
// refusals, as of a resource that is not served, say nothing about the options.
func refusesOptions(err error) bool {
	return isCode(err, http.StatusBadRequest) || isCode(err, http.StatusUnprocessableEntity)
}

// initialVerdict says what becomes of a watch-list that did not reach its marker.
type initialVerdict int

const (
	initialRefused  initialVerdict = iota // list instead, and do not ask again for a while
	initialUnserved                       // list instead, this time
	initialAgain                          // a failure: ask again after the backoff
	initialRestart                        // the version cannot be had: at "", at once
)

// afterInitial is the decision table for the initial phase of a watch-list. tries counts
// those in a row that ended early, this one included.
func afterInitial(e initialEnd, tries int) initialVerdict {
	c := classify(e.err)
	switch {
	case errors.Is(e.err, errInitialSilence):
		return initialUnserved
	case (c == classExpired || c == classTooLarge || c == classAlarm) && e.asked != "":
		return initialRestart
	case c == classRefused && !e.seen, isCode(e.err, http.StatusNotImplemented) && !e.seen,
		isCode(e.err, http.StatusInternalServerError) && !e.seen && e.opened:
		return initialRefused
	case c != classUnanswered && tries >= maxInitialTries:
		return initialUnserved
	}
	return initialAgain
}

// initialEnd is how a watch-list ended before its marker.
type initialEnd struct {
	asked  string // the version asked for
	opened bool   // the request was answered with a stream
	seen   bool   // an event came
	err    error  // of the request, in the stream, or errInitialSilence or errInitialEnded
}

func isCode(err error, code int32) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return s.Code == code || s.Code == 0 && codeOfReason[s.Reason] == code
}

// firstVersion is the table of versions to ask for: of a list, and of a watch-list.
func firstVersion(o *ReflectorOptions, synced, consistent bool, reached string) (list, watchList string) {
	switch {
	case consistent:
		return "", ""
	case synced:
		return reached, reached
	case o.NotOlderThan != "":
		return o.NotOlderThan, o.NotOlderThan
	case o.MostRecent:
		return "", ""
	}
	return "0", ""
}

// newest returns the newer of two versions, and the first where they have no order.
func newest(a, b string) string {
	if older(a, b) {
		return b
	}
	return a
}

// older reports whether version a is older than b; false where they cannot be compared.
func older(a, b string) bool {
	if len(a) > len(b) || len(a) == len(b) && a >= b { // nearly always, and this is done for each event
		return false
	}
	return ordered(a) && ordered(b)
}
