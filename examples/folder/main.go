// SPDX-License-Identifier: Apache-2.0

// Command folder mirrors a folder of files: a source needs a List and a Watch, and nothing
// of Kubernetes.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/informerkit/informer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "folder:", err)
		os.Exit(1)
	}
}

// run writes files into a folder of its own and tells what its mirror hears of it.
func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	path, err := os.MkdirTemp("", "folder")
	if err != nil {
		return err
	}
	defer os.RemoveAll(path)
	write := func(name, text string) error { return os.WriteFile(filepath.Join(path, name), []byte(text), 0o600) }
	if err := write("a.txt", "one"); err != nil {
		return err
	}
	files := informer.New(&folder{path: path}, informer.Options[*File]{})
	done := make(chan error, 1)
	go func() { done <- files.Run(ctx) }()
	for change := range files.Changes(ctx) {
		fmt.Fprintln(out, change.Type, change.Key, change.Object().Size)
		switch {
		case change.Type == informer.Added && change.Key == "a.txt":
			err = write("b.txt", "three")
		case change.Type == informer.Added:
			err = write("a.txt", "four")
		case change.Type == informer.Updated:
			err = os.Remove(filepath.Join(path, "b.txt"))
		default:
			cancel()
		}
		if err != nil {
			return err
		}
	}
	return <-done
}
