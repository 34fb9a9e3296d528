// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"testing"

	"k8s.io/klog/v2"
)

// curiousSink asks its reporter for the status of whatever it logs.
type curiousSink struct {
	about *reporter
	lines *int
}

func (curiousSink) Init(klog.RuntimeInfo)            {}
func (curiousSink) Enabled(int) bool                 { return true }
func (s curiousSink) Info(int, string, ...any)       { *s.lines++; s.about.current() }
func (s curiousSink) Error(error, string, ...any)    { *s.lines++; s.about.current() }
func (s curiousSink) WithValues(...any) klog.LogSink { return s }
func (s curiousSink) WithName(string) klog.LogSink   { return s }

// A logger may ask for the status of what it logs about.
func TestLoggerMayAskForStatus(t *testing.T) {
	r := newReporter(&ReflectorOptions{})
	lines := 0
	ctx := klog.NewContext(context.Background(), klog.New(curiousSink{r, &lines}))
	r.failure(ctx, errors.New("down"))
	r.good(ctx)
	r.failure(ctx, errors.New("down"))
	r.committed(ctx, "1", nil)
	if lines != 4 {
		t.Errorf("%d lines", lines)
	}
}
