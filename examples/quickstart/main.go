// SPDX-License-Identifier: Apache-2.0

// Command quickstart mirrors a collection and tells what happens to it.
//
//	go run ./examples/quickstart
//
// starts a server in memory on a loopback port, mirrors it over HTTP through cut streams
// and a compacted history, and ends with status 0 if mirror and server are equal. With
//
//	go run ./examples/quickstart -server https://… -token-file … -ca-file … -resource pods
//
// it mirrors a real cluster and prints changes until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/informerkit/informer/rest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Stdout, os.Args[1:]...)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// run is the program: without arguments the demonstration, otherwise a real cluster.
func run(ctx context.Context, out io.Writer, args ...string) error {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(out)
	var t target
	config := &t.config
	flags.StringVar(&config.BaseURL, "server", "", "URL of a real server; empty: one in memory")
	flags.StringVar(&config.BearerTokenFile, "token-file", "", "file that holds a bearer token")
	flags.StringVar(&config.CAFile, "ca-file", "", "file that holds the certificates to trust")
	resource := flags.String("resource", "pods", "plural, with group and version before it where it is not of v1: apps/v1/deployments")
	namespace := flags.String("namespace", "", "namespace; empty: all")
	flags.StringVar(&t.selector, "selector", "", "label selector; empty: all objects")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case config.BaseURL == "" && flags.NFlag() > 0:
		return errors.New("the other flags need -server")
	case config.BaseURL == "":
		return demonstrate(ctx, out)
	}
	var err error
	if t.resource, err = parseResource(*resource); err != nil {
		return err
	}
	t.resource.Namespace = *namespace
	return follow(ctx, out, t)
}

// parseResource reads "pods", "v1/pods" or "apps/v1/deployments".
func parseResource(text string) (rest.Resource, error) {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if part == "" {
			return rest.Resource{}, fmt.Errorf("-resource %q: empty part", text)
		}
	}
	switch len(parts) {
	case 1:
		return rest.Resource{Version: "v1", Resource: parts[0]}, nil
	case 2:
		return rest.Resource{Version: parts[0], Resource: parts[1]}, nil
	case 3:
		return rest.Resource{Group: parts[0], Version: parts[1], Resource: parts[2]}, nil
	}
	return rest.Resource{}, fmt.Errorf("-resource %q: want [group/]version/plural", text)
}
