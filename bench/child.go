// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/informerkit/informer/bench/mirror"
)

// children are the programs that mirror a server, each with what its users link.
type children struct{ dir string }

// sides are the programs' names; ours is the first.
var sides = [2]string{"ours", "clientgo"}

// buildChildren builds them; the caller removes the directory.
func buildChildren(ctx context.Context) (children, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return children{}, err
	}
	args := []string{"build", "-o", dir}
	for _, side := range sides {
		args = append(args, "./mirror/"+side)
	}
	build := exec.CommandContext(ctx, "go", args...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return children{dir}, fmt.Errorf("build mirrors: %w", err)
	}
	return children{dir}, nil
}

func (c children) remove() { _ = os.RemoveAll(c.dir) }

// run runs a side, and wants so many objects.
func (c children) run(ctx context.Context, side string, task mirror.Task, objects int) (f mirror.Figures, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(c.dir, side), "-server="+task.Server, "-mode="+task.Mode, "-last="+task.Last)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return f, fmt.Errorf("mirror of %s: %w", side, err)
	}
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		return f, fmt.Errorf("figures of %s: %w", side, err)
	}
	if f.Objects != objects {
		return f, fmt.Errorf("%s mirrored %d of %d objects", side, f.Objects, objects)
	}
	return f, nil
}
