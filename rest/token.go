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

// tokens is where the bearer token comes from that is in a file.
type tokens struct {
	file string

	mu    sync.Mutex
	last  string    // the last token that could be read
	read  time.Time // when the file was last read, or tried
	cause error     // of the last try
}

// current returns the token to send.
func (t *tokens) current(ctx context.Context) (credential, error) {
	t.mu.Lock()
	last, fresh := t.last, t.last != "" && time.Since(t.read) < tokenLife
	t.mu.Unlock()
	if fresh {
		return bearer(last), nil
	}
	last, err := t.reload(ctx)
	if last == "" {
		return credential{}, err
	}
	return bearer(last), nil
}

// renew reads the file now.
func (t *tokens) renew(ctx context.Context, refused credential) bool {
	last, _ := t.reload(ctx)
	return last != "" && bearer(last) != refused
}

// fault is why the file could not be read the last time.
func (t *tokens) fault() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cause
}

// reload reads the file now and returns the last token that could be read.
func (t *tokens) reload(ctx context.Context) (last string, err error) {
	token, err := readToken(t.file)
	t.mu.Lock()
	before, first := t.last, err != nil && t.cause == nil
	t.read, t.cause = time.Now(), err
	if err == nil {
		t.last = token
	}
	last = t.last
	t.mu.Unlock()
	if first && before != "" {
		klog.FromContext(ctx).Error(err, "Bearer token file cannot be read, sending its last token on")
	}
	return last, err
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
