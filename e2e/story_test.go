// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// fewLines is how many lines of log an incident may take.
const fewLines = 20

// story is what a mirror logs, and what its hook was told.
type story struct {
	mu       sync.Mutex
	lines    []string
	failures []error
}

func newStory() *story { return &story{} }

// logger is one without verbosity: what an operator reads.
func (s *story) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines = append(s.lines, line)
	}, funcr.Options{LogTimestamp: true, TimestampFormat: time.StampMilli})
}

// fails is the hook.
func (s *story) fails(_ context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, err)
}

func (s *story) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// count returns the number of lines that hold the text; "": of all.
func (s *story) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, line := range s.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// told says whether the hook got such an error.
func (s *story) told(is func(error) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, err := range s.failures {
		if is(err) {
			return true
		}
	}
	return false
}

// await waits for something that the story comes to hold.
func (s *story) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx := patience(t)
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s is not in the log:\n%s", what, s)
		case <-time.After(pollInterval):
		}
	}
}

// short checks that the log tells all that happened in a few lines.
func (s *story) short(t *testing.T) {
	t.Helper()
	if n := s.count(""); n > fewLines {
		t.Errorf("the log has %d lines; want at most %d:\n%s", n, fewLines, s)
	}
}
