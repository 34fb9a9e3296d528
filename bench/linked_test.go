// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSmallestIsLinkedWithoutOtherEncodings holds a program that asks for JSON alone to what reads
// JSON: nothing of ours for Protobuf or CBOR, and no generated Unmarshal of the API's types.
func TestSmallestIsLinkedWithoutOtherEncodings(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./smallest/ours").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "nm", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	symbols := string(out)
	for _, linked := range []string{"k8s.io/api/core/v1.(*Pod).GetObjectKind", "informer/rest.identify"} {
		if !strings.Contains(symbols, linked) {
			t.Errorf("%s is not linked, or go tool nm names it in another way", linked)
		}
	}
	unwanted := regexp.MustCompile(`k8s\.io/api/.*\)\.Unmarshal$|informer/rest\.(\(\*?(proto|cbor)|Protobuf|CBOR|protoDecoder|cborDecoder|identifyProto|identifyCBOR|decodeCBOR)`)
	for symbol := range strings.Lines(symbols) {
		if symbol = strings.TrimSpace(symbol); unwanted.MatchString(symbol) {
			t.Errorf("linked: %s", symbol)
		}
	}
}
