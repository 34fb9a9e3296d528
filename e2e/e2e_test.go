// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"testing"

	"github.com/informerkit/informer/e2e/internal/kube"
)

// cluster is shared by all tests of the package, each of which works in namespaces of its own.
var cluster *kube.Cluster

func TestMain(m *testing.M) {
	os.Exit(kube.Main(m, func(c *kube.Cluster) { cluster = c }))
}
