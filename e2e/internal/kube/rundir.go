// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"
)

// newRunDir makes the folder of one cluster and locks it as long as this process lives. Folders
// that nobody holds a lock on belonged to processes that were killed; they are removed.
func newRunDir() (dir string, unlock func(), err error) {
	root := filepath.Join(os.TempDir(), fmt.Sprintf("informerkit-e2e-%d", os.Getuid()))
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	unlockRoot, err := lock(ctx, filepath.Join(root, "lock"))
	if err != nil {
		return "", nil, err
	}
	defer unlockRoot()
	if err := sweep(root); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(root, "cluster-"); err != nil {
		return "", nil, err
	}
	if unlock, err = tryLock(filepath.Join(dir, "lock")); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, unlock, nil
}

// sweep removes the folders of clusters whose process is gone.
func sweep(root string) error {
	dirs, err := filepath.Glob(filepath.Join(root, "cluster-*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		unlock, err := tryLock(filepath.Join(dir, "lock"))
		if err != nil {
			continue // In use, or being removed by its owner right now.
		}
		err = os.RemoveAll(dir)
		unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// The range of ports to choose from: below the one that kernels take the ports of outgoing
// connections from, so that a server that is down for a while finds its port free.
const firstPort, lastPort = 20000, 30000

// freePort returns a port of loopback that nobody listens on.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		var listener net.Listener
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("no free port: %w", err)
}
