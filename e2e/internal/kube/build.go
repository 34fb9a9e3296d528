// SPDX-License-Identifier: Apache-2.0

// Package kube builds a real etcd and a real kube-apiserver from Go modules, once, and runs them
// on loopback for tests.
package kube

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Version is the release of Kubernetes that is built.
const Version = "v1.37.2"

// CacheEnv names the environment variable that moves the folder of the binaries and of the logs
// of failed runs. Without it they are in the user's cache folder.
const CacheEnv = "INFORMER_E2E_CACHE"

// The files of the module that names every version; go.sum pins the content.
var (
	//go:embed build/go.mod.in
	buildMod []byte
	//go:embed build/go.sum.in
	buildSum []byte
)

const versionPackage = "k8s.io/component-base/version"

// Stripped of symbols, and told its version, which a build outside of its own tree does not know.
const linkerFlags = "-s -w" +
	" -X " + versionPackage + ".gitVersion=" + Version +
	" -X " + versionPackage + ".gitMajor=1" +
	" -X " + versionPackage + ".gitMinor=37" +
	" -X " + versionPackage + ".gitTreeState=clean"

// program is one binary and the package it is built from.
type program struct{ name, pkg string }

var programs = []program{
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"etcdutl", "go.etcd.io/etcd/etcdutl/v3"},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
}

// Binaries are the paths of what was built.
type Binaries struct {
	Dir       string // the folder that holds them all
	Etcd      string
	Etcdutl   string
	APIServer string
}

// CacheDir returns the folder that outlives runs: binaries, and the logs of failed runs.
func CacheDir() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache folder: %w (set %s)", err, CacheEnv)
	}
	return filepath.Join(dir, "informerkit-e2e"), nil
}

// Build returns the binaries, and builds those that are not in the cache folder yet. That takes
// minutes and needs the module proxy, or a filled module cache.
//
// Concurrency: of several processes one builds and the others wait for it. A binary appears under
// its name only when it is complete.
//
// Errors: what go build printed is part of the error.
func Build(ctx context.Context) (Binaries, error) {
	cache, err := CacheDir()
	if err != nil {
		return Binaries{}, err
	}
	dir := filepath.Join(cache, buildName())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Binaries{}, fmt.Errorf("cache folder: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return Binaries{}, fmt.Errorf("lock of %s: %w", dir, err)
	}
	defer unlock()
	for _, p := range programs {
		if _, err := os.Stat(filepath.Join(dir, p.name)); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Binaries{}, err
		}
		if err := build(ctx, dir, p); err != nil {
			return Binaries{}, fmt.Errorf("build of %s for Kubernetes %s: %w", p.name, Version, err)
		}
	}
	return Binaries{
		Dir:       dir,
		Etcd:      filepath.Join(dir, "etcd"),
		Etcdutl:   filepath.Join(dir, "etcdutl"),
		APIServer: filepath.Join(dir, "kube-apiserver"),
	}, nil
}

// buildName changes with everything that the binaries depend on.
func buildName() string {
	sum := sha256.New()
	for _, part := range [][]byte{buildMod, buildSum, []byte(linkerFlags)} {
		sum.Write(part)
		sum.Write([]byte{0})
	}
	return fmt.Sprintf("%s-%s-%s-%s-%s", Version, runtime.Version(), runtime.GOOS, runtime.GOARCH,
		hex.EncodeToString(sum.Sum(nil))[:8])
}

// build makes one binary in a folder of its own and then moves it to its place.
func build(ctx context.Context, dir string, p program) error {
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	for name, content := range map[string][]byte{"go.mod": buildMod, "go.sum": buildSum} {
		if err := os.WriteFile(filepath.Join(work, name), content, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "building %s for Kubernetes %s (takes minutes, but only once) into %s\n", p.name, Version, dir)
	out := filepath.Join(work, p.name)
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-ldflags", linkerFlags, "-o", out, p.pkg)
	cmd.Dir = work
	// Flags and workspace of the caller are about the caller's module.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	cmd.SysProcAttr = dieWithParent()
	if printed, err := runLocked(cmd); err != nil {
		return fmt.Errorf("%w\n%s", err, printed)
	}
	return os.Rename(out, filepath.Join(dir, p.name))
}
