// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/informerkit/informer/bench/mirror"
)

// interned are our lists with transform.Intern. Their rows are about memory alone, so they run
// beside the parts that time nothing.
type interned struct {
	done    chan struct{}
	figures []mirror.Figures
	err     error
}

// startInterned starts them, one after the other, as soon as the programs are built.
func startInterned(ctx context.Context, p *programs, s size) *interned {
	i := &interned{done: make(chan struct{})}
	go func() {
		defer close(i.done)
		i.err = i.run(ctx, p, s)
	}()
	return i
}

func (i *interned) run(ctx context.Context, p *programs, s size) error {
	<-p.mirrors
	s = s.withFew(fewListed)
	server, stop, err := serveApart(ctx, s.objects)
	if err != nil {
		return err
	}
	defer stop()
	for range s.runs {
		f, err := p.run(ctx, sides[0], mirror.Task{Server: server, Mode: mirror.Intern}, s.objects)
		if err != nil {
			return err
		}
		i.figures = append(i.figures, f)
	}
	return nil
}

// wait returns the figures; nil has none.
func (i *interned) wait() ([]mirror.Figures, error) {
	if i == nil {
		return nil, nil
	}
	<-i.done
	return i.figures, i.err
}

// serveApart serves n pods in a process of its own, whose memory is not this one's, until it
// is stopped.
func serveApart(ctx context.Context, n int) (baseURL string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, self, "serve", strconv.Itoa(n))
	stop = func() { cancel(); _ = cmd.Wait() }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		baseURL, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("server: %w", err)
	}
	return strings.TrimSpace(baseURL), stop, nil
}
