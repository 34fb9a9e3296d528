// SPDX-License-Identifier: Apache-2.0

// Command quickstart mirrors a collection and tells what happens to it.
//
//	go run ./examples/quickstart
//
// starts a server in memory on a loopback port, mirrors it over HTTP through cut streams
// and a compacted history, and ends with status 0 if mirror and server are equal. With
//
//	go run ./examples/quickstart -resource pods
//
// it mirrors the cluster that kubectl would talk to, and prints changes until it is
// interrupted. -kubeconfig and -context choose another one, or -server, -token-file and
// -ca-file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
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
	var where rest.KubeconfigOptions
	flags.StringVar(&where.Path, "kubeconfig", "", "file that says how to reach a real server; empty: as kubectl finds it")
	flags.StringVar(&where.Context, "context", "", "context in it; empty: the current one")
	flags.StringVar(&t.config.BaseURL, "server", "", "URL of a real server, instead of a kubeconfig")
	flags.StringVar(&t.config.BearerTokenFile, "token-file", "", "with -server: file that holds a bearer token")
	flags.StringVar(&t.config.CAFile, "ca-file", "", "with -server: file that holds the certificates to trust")
	resource := flags.String("resource", "pods", "name as for kubectl (pods, deploy, widgets.example.com), or group/version/plural")
	flags.StringVar(&t.resource.Namespace, "namespace", "", "namespace; not given: that of the context; empty: all")
	flags.StringVar(&t.selector, "selector", "", "label selector; empty: all objects")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if flags.NFlag() == 0 {
		return demonstrate(ctx, out)
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := t.reach(where, given); err != nil {
		return err
	}
	if err := t.find(ctx, *resource); err != nil {
		return err
	}
	return follow(ctx, out, t)
}

// reach finds out how to reach the server: as the flags say, or a kubeconfig, or in a pod
// the service account.
func (t *target) reach(where rest.KubeconfigOptions, given map[string]bool) error {
	switch {
	case given["server"] && (given["kubeconfig"] || given["context"]):
		return errors.New("-server and a kubeconfig exclude each other")
	case given["server"]:
		return nil
	case given["token-file"] || given["ca-file"]:
		return errors.New("-token-file and -ca-file need -server")
	}
	config, namespace, err := rest.LoadKubeconfig(where)
	if errors.Is(err, rest.ErrNoKubeconfig) && !given["kubeconfig"] && !given["context"] {
		if inPod, podErr := rest.InClusterConfig(); podErr == nil {
			config, err = inPod, nil
		}
	}
	if err != nil {
		return err
	}
	t.config = config
	if !given["namespace"] {
		t.resource.Namespace = namespace
	}
	return nil
}

// find finds the resource, by asking the server unless the name says it all.
func (t *target) find(ctx context.Context, name string) error {
	parts := strings.Split(name, "/")
	if slices.Contains(parts, "") || len(parts) > 3 {
		return fmt.Errorf("-resource %q: want a name, or [group/]version/plural", name)
	}
	namespace := t.resource.Namespace
	switch len(parts) {
	case 3:
		t.resource = rest.Resource{Group: parts[0], Version: parts[1], Resource: parts[2], Namespace: namespace}
		return nil
	case 2:
		t.resource = rest.Resource{Version: parts[0], Resource: parts[1], Namespace: namespace}
		return nil
	}
	served, err := rest.Discover(ctx, t.config)
	if err != nil {
		return err
	}
	found, err := served.Find(name)
	t.resource = found.In(namespace)
	return err
}
