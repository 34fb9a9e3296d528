// SPDX-License-Identifier: Apache-2.0

// Command indexes reads a mirror by what its objects say: by namespace, and by a value of
// its own making.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object = *metav1.PartialObjectMetadata

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "indexes:", err)
		os.Exit(1)
	}
}

// run mirrors four objects, adds a second index while it does, and reads both.
func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := informertest.NewCollection(nil, teamed("web", "a", "red"), teamed("web", "b", "blue"), teamed("db", "c", "red"), teamed("db", "d"))
	objects := informer.New(server, informer.Options[object]{
		Indexers: informer.Indexers[object]{informer.NamespaceIndex: informer.IndexByNamespace[object]},
	})
	done := make(chan error, 1)
	go func() { done <- objects.Run(ctx) }()
	if err := objects.WaitForSync(ctx); err != nil {
		return err
	}
	// An index may be added at any time: readers see it whole, or not at all.
	if err := objects.AddIndexers(informer.Indexers[object]{"team": byTeam}); err != nil {
		return err
	}
	for _, read := range []struct{ index, value string }{{informer.NamespaceIndex, "web"}, {"team", "red"}, {"team", "green"}} {
		keys, err := objects.Store().IndexKeys(read.index, read.value)
		if err != nil {
			return err
		}
		slices.Sort(keys)
		fmt.Fprintln(out, read.index, read.value, keys)
	}
	_, err := objects.Store().ByIndex("node", "x")
	fmt.Fprintln(out, err) // and names those that there are
	cancel()
	return <-done
}

// byTeam files an object under each of its teams, and one without any nowhere.
func byTeam(obj object) ([]string, error) {
	if team, ok := obj.Labels["team"]; ok {
		return []string{team}, nil
	}
	return nil, nil
}

func teamed(namespace, name string, team ...string) object {
	obj := &metav1.PartialObjectMetadata{}
	obj.Namespace, obj.Name = namespace, name
	if len(team) > 0 {
		obj.Labels = map[string]string{"team": team[0]}
	}
	return obj
}
