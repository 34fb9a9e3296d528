// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// readyTimeout bounds a start; a loaded machine with two cores takes 15 s.
	readyTimeout = 2 * time.Minute

	// stopTimeout is how long a process has between SIGTERM and SIGKILL.
	stopTimeout = 15 * time.Second

	// pollInterval is the time between two questions whether a server is ready.
	pollInterval = 50 * time.Millisecond

	// tailBytes is how much of a log an error shows.
	tailBytes = 4 << 10
)

// Process is one of the two servers. It can be stopped, killed and started again, always with the
// same arguments, ports and data.
//
// Concurrency: its methods may be called from several goroutines, one after the other takes effect.
type Process struct {
	name  string
	path  string
	args  []string
	log   string
	ready func(ctx context.Context) error

	mu  sync.Mutex
	run *running // nil when stopped
}

// running is one life of a process.
type running struct {
	process *os.Process
	done    chan struct{} // closed after the process has ended and was waited for
	err     error         // how it ended; to be read after done
}

// Start starts the process and waits until it is ready, at most two minutes. Starting a process
// that runs is an error.
//
// Errors: they hold the last lines of the log; the process is then stopped.
func (p *Process) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil {
		return fmt.Errorf("start of %s: it is running", p.name)
	}
	run, err := p.launch()
	if err != nil {
		return fmt.Errorf("start of %s: %w", p.name, err)
	}
	p.run = run
	if err := p.waitReady(ctx, run); err != nil {
		p.endLocked(syscall.SIGKILL)
		return fmt.Errorf("start of %s: %w\n%s", p.name, err, tail(p.log))
	}
	return nil
}

// Stop ends the process as an operator would, with SIGTERM, and kills it after 15 s. It returns
// when the process is gone. Stopping a stopped process does nothing.
func (p *Process) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked(syscall.SIGTERM)
}

// Kill ends the process at once, with SIGKILL, and returns when it is gone.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked(syscall.SIGKILL)
}

// Restart stops and starts the process.
func (p *Process) Restart(ctx context.Context) error {
	p.Stop()
	return p.Start(ctx)
}

// WaitReady waits until the process, which has to be running, is ready (again), at most two
// minutes. The server may have to wait for the other one.
func (p *Process) WaitReady(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return fmt.Errorf("wait for %s: it is not running", p.name)
	}
	if err := p.waitReady(ctx, p.run); err != nil {
		return fmt.Errorf("wait for %s: %w\n%s", p.name, err, tail(p.log))
	}
	return nil
}

// PID returns the process id, 0 when stopped.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return 0
	}
	return p.run.process.Pid
}

// Log returns the path of the log, which all lives of the process write to.
func (p *Process) Log() string { return p.log }

// launch starts the process on a thread that lives as long as the process does: see dieWithParent.
func (p *Process) launch() (*running, error) {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()
	run := &running{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer func() { _ = log.Close() }()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		run.process = cmd.Process
		started <- nil
		run.err = cmd.Wait()
		close(run.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return run, nil
}

// waitReady asks until the server says that it is ready.
func (p *Process) waitReady(ctx context.Context, run *running) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready within %v", readyTimeout))
	defer cancel()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-run.done:
			return fmt.Errorf("it ended: %v", run.err)
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(pollInterval):
		}
	}
}

// endLocked sends the signal and waits, with SIGKILL after stopTimeout.
func (p *Process) endLocked(signal os.Signal) {
	if p.run == nil {
		return
	}
	// An error says that the process has ended already, and then done is closed.
	_ = p.run.process.Signal(signal)
	select {
	case <-p.run.done:
	case <-time.After(stopTimeout):
		_ = p.run.process.Kill()
		<-p.run.done
	}
	p.run = nil
}

// runLocked runs a command to its end on one thread, as dieWithParent needs it, and returns what
// the command printed.
func runLocked(cmd *exec.Cmd) ([]byte, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.CombinedOutput()
}

// tail returns the end of a log.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(content) > tailBytes {
		content = content[len(content)-tailBytes:]
		if i := bytes.IndexByte(content, '\n'); i >= 0 {
			content = content[i+1:]
		}
	}
	return fmt.Sprintf("last lines of %s:\n%s", path, content)
}

// inUse says that a start failed because another process took the port in the meantime.
func inUse(log string) bool {
	content, err := os.ReadFile(log)
	return err == nil && bytes.Contains(content, []byte("address already in use"))
}
