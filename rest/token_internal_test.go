// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTokenIsReadOnceAMinute(t *testing.T) {
	t.Run("fake time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "token")
			source := &tokens{file: file}
			steps := []struct {
				write string // "-" removes the file
				after time.Duration
				want  string
			}{
				{"-", 0, ""},
				{"one", 0, "one"}, // there was none, so it is not waited for
				{"two", tokenLife - 1, "one"},
				{"two", 1, "two"},
				{"-", tokenLife, "two"}, // vanished: the last good one
				{"three", tokenLife - 1, "two"},
				{"three", 1, "three"},
			}
			for i, step := range steps {
				if step.write == "-" {
					if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
						t.Fatal(err)
					}
				} else if err := os.WriteFile(file, []byte(step.write), 0o600); err != nil {
					t.Fatal(err)
				}
				time.Sleep(step.after)
				got, err := source.current(t.Context())
				if token := strings.TrimPrefix(got.header, "Bearer "); token != step.want || (err != nil) != (step.want == "") {
					t.Errorf("step %d: %q, %v", i, got.header, err)
				}
			}
		})
	})
}

func TestInCluster(t *testing.T) {
	dir := t.TempDir()
	environment := map[string]string{}
	getenv := func(name string) string { return environment[name] }
	if _, err := inCluster(getenv, dir); !errors.Is(err, ErrNotInCluster) {
		t.Error(err)
	}
	environment["KUBERNETES_SERVICE_HOST"], environment["KUBERNETES_SERVICE_PORT"] = "fd00::1", "443"
	if _, err := inCluster(getenv, dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := inCluster(getenv, dir)
	if err != nil || config.BaseURL != "https://[fd00::1]:443" || config.BearerTokenFile != filepath.Join(dir, "token") || config.CAFile != filepath.Join(dir, "ca.crt") {
		t.Errorf("%+v, %v", config, err)
	}
}

func TestOrigin(t *testing.T) {
	base, err := parseBase("https://Example.com/x")
	if err != nil {
		t.Fatal(err)
	}
	for other, same := range map[string]bool{
		"https://example.com:443/": true, "https://example.com/y": true, "http://example.com/": false,
		"https://example.com:444/": false, "https://a.example.com/": false,
	} {
		u, err := parseBase(other)
		if err != nil {
			t.Fatal(err)
		}
		if got := origin(u) == origin(base); got != same {
			t.Errorf("%s: %t", other, got)
		}
	}
}
