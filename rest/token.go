// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// tokenLife is how long a token that was read is sent before its file is read again. The
// kubelet rotates a token when 80 % of its life is over, which leaves two minutes of the
// shortest life that it allows: https://kubernetes.io/docs/concepts/storage/projected-volumes/
const tokenLife = time.Minute

// tokens is where the bearer token comes from.
type tokens struct {
	fixed string
	file  string

	mu    sync.Mutex
	last  string    // the last token that could be read
	read  time.Time // when the file was last read, or tried
	fault error     // of the last try
}

// current returns the token to send, "" for none.
func (t *tokens) current(ctx context.Context) (string, error) {
	if t.file == "" {
		return t.fixed, nil
	}
	t.mu.Lock()
	last, fresh := t.last, t.last != "" && time.Since(t.read) < tokenLife
	t.mu.Unlock()
	if fresh {
		return last, nil
	}
	_, err := t.reload(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != "" {
		return t.last, nil
	}
	return "", err
}

// reload reads the file now and reports whether it holds another token than before.
func (t *tokens) reload(ctx context.Context) (changed bool, err error) {
	if t.file == "" {
		return false, nil
	}
	token, err := readToken(t.file)
	t.mu.Lock()
	before, first := t.last, err != nil && t.fault == nil
	t.read, t.fault = time.Now(), err
	if err == nil {
		t.last = token
	}
	t.mu.Unlock()
	if first && before != "" {
		klog.FromContext(ctx).Error(err, "Bearer token file cannot be read, sending its last token on")
	}
	return err == nil && token != before, err
}

// readToken reads a token file. Its errors name the file and nothing that is in it.
func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("bearer token file: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", fmt.Errorf("bearer token file %s: %w", file, errors.New("empty"))
	}
	if strings.ContainsFunc(token, notInToken) {
		return "", fmt.Errorf("bearer token file %s: %w", file, errors.New("holds no token"))
	}
	return token, nil
}

// notInToken reports what would break the header that a token travels in.
func notInToken(r rune) bool { return r <= ' ' || r >= 0x7f }
