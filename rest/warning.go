// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"unicode"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/klog/v2"
)

// What a server may say beside its answers. kube-apiserver itself cuts the warnings of a
// request to 256 characters each, once they are more than 4 KiB together.
const (
	maxWarning  = 512 // bytes
	maxWarnings = 32  // texts
)

// codeWarning is the code of a persistent warning about anything: RFC 7234, section 5.5.7.
const codeWarning = 299

// warnings passes on what a server warns of, each text once.
type warnings struct {
	told func(ctx context.Context, warning string)
	name string // of what is asked for

	mu   sync.Mutex
	seen map[string]bool
}

func newWarnings(config Config, name string) *warnings {
	return &warnings{told: config.OnWarning, name: name, seen: map[string]bool{}}
}

// read reads the warnings of an answer. What does not follow the form of one is skipped.
func (w *warnings) read(ctx context.Context, header http.Header) {
	values := header["Warning"]
	if len(values) == 0 {
		return
	}
	found, _ := utilnet.ParseWarningHeaders(values)
	for _, warning := range found {
		text := printable(warning.Text, maxWarning)
		if warning.Code != codeWarning || text == "" || !w.first(text) {
			continue
		}
		if w.told != nil {
			w.told(ctx, text)
			continue
		}
		klog.FromContext(ctx).Info("Server warns", "resource", w.name, "warning", text)
	}
}

// first reports whether a text is new, and one of not too many.
func (w *warnings) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[text] || len(w.seen) >= maxWarnings {
		return false
	}
	w.seen[text] = true
	return true
}

// printable cuts a text to a number of bytes and replaces what could change how the rest
// of it is shown.
func printable(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, text)
	if len(text) <= limit {
		return text
	}
	cut := limit - len("…")
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}
