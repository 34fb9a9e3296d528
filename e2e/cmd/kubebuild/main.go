// SPDX-License-Identifier: Apache-2.0

// Command kubebuild builds the etcd and the kube-apiserver that the tests of this module run, if
// they are not built yet, and prints the folder that holds them. The tests build them too; calling
// this first keeps the build out of the tests' own time limit.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/informerkit/informer/e2e/internal/kube"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	binaries, err := kube.Build(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(binaries.Dir)
}
