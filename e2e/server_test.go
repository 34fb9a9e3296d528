// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	"github.com/informerkit/informer/internal/servertable"
)

// TestServer runs the table that the server of informertest is held to against a real server, so
// that the two cannot drift apart. The rows that take minutes are left out with -short.
func TestServer(t *testing.T) {
	servertable.Run(t, servertable.Target{
		BaseURL:           cluster.URL,
		Client:            cluster.Client(t, cluster.Token),
		Namespace:         cluster.Namespace,
		ComponentStatuses: true,
		Patient:           !testing.Short(),
	})
}
