// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/informerkit/informer/bench/mirror"
)

// sides are the programs' names; ours is the first.
var sides = [2]string{"ours", "clientgo"}

// programs are those in mirror/ and smallest/, each with what its users link, stripped.
type programs struct {
	packages [2]float64 // of the smallest ones, without the standard library

	mirrors  chan struct{} // closed when those in mirror/ are built, or could not be
	building sync.WaitGroup
	errs     [4]error // of the builds, and of counting packages
}

// programsDir is where they are kept, relative to this package: the next run links only what
// has changed since.
const programsDir = "../bin/bench"

// build starts to build them.
func build(ctx context.Context) *programs {
	p := &programs{mirrors: make(chan struct{})}
	p.building.Go(func() {
		defer close(p.mirrors)
		p.errs[0] = p.build(ctx, "mirror")
	})
	p.building.Go(func() { p.errs[1] = p.build(ctx, "smallest") })
	for i, side := range sides {
		p.building.Go(func() { p.packages[i], p.errs[2+i] = dependencies(ctx, "./smallest/"+side) })
	}
	return p
}

func (p *programs) build(ctx context.Context, group string) error {
	args := []string{"build", "-ldflags=-s -w", "-o", filepath.Join(programsDir, group) + "/"}
	for _, side := range sides {
		args = append(args, "./"+group+"/"+side)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build %s: %w", group, err)
	}
	return nil
}

func dependencies(ctx context.Context, program string) (float64, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", program).Output()
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", program, err)
	}
	return float64(len(strings.Fields(string(out)))), nil
}

// wait returns once they are built; nil has none.
func (p *programs) wait() error {
	if p == nil {
		return nil
	}
	p.building.Wait()
	return errors.Join(p.errs[:]...)
}

func (p *programs) path(group, side string) string { return filepath.Join(programsDir, group, side) }

// mirrorLimit ends a mirror that hangs: a minute is what the slowest takes.
const mirrorLimit = 10 * time.Minute

// run runs a mirror, and wants so many objects.
func (p *programs) run(ctx context.Context, side string, task mirror.Task, objects int) (f mirror.Figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, mirrorLimit)
	cmd := exec.CommandContext(ctx, p.path("mirror", side), "-server="+task.Server, "-mode="+task.Mode, "-last="+task.Last)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return f, fmt.Errorf("mirror of %s: %w", side, err)
	}
	ended := func() error { defer cancel(); return cmd.Wait() }
	if err := json.NewDecoder(out).Decode(&f); err != nil {
		return f, fmt.Errorf("figures of %s: %w", side, errors.Join(err, ended()))
	}
	go func() { _ = ended() }() // its memory is freed while the next one starts
	if f.Objects != objects {
		return f, fmt.Errorf("%s mirrored %d of %d objects", side, f.Objects, objects)
	}
	return f, nil
}
