// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/informerkit/informer/rest"
)

func Example() {
	var account strings.Builder
	if err := run(context.Background(), &account); err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(account.String()) {
		for _, part := range []string{"---", "listing again", "equal"} {
			if _, rest, found := strings.Cut(line, part); found {
				fmt.Print(part, rest)
			}
		}
	}
	// Output:
	// --- cutting all streams
	// --- refusing two requests, and compacting the history meanwhile
	// listing again (expired)
	// equal: 1000 objects at version 1008
}

func TestParseResource(t *testing.T) {
	for text, want := range map[string]rest.Resource{
		"pods":                {Version: "v1", Resource: "pods"},
		"v1/pods":             {Version: "v1", Resource: "pods"},
		"apps/v1/deployments": {Group: "apps", Version: "v1", Resource: "deployments"},
	} {
		if got, err := parseResource(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, args := range [][]string{{"-resource=pods"}, {"-token-file=x"}, {"pods"}, {"-server=http://127.0.0.1:1", "-resource=/"}} {
		if err := run(context.Background(), io.Discard, args...); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	for _, text := range []string{"", "/pods", "a/b/c/d"} {
		if got, err := parseResource(text); err == nil {
			t.Errorf("%q: %+v and no error", text, got)
		}
	}
}
