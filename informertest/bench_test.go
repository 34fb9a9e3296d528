// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/informerkit/informer/informertest"
)

// BenchmarkServeList serves a list of 100,000 objects of 3.7 KB that were loaded as JSON.
func BenchmarkServeList(b *testing.B) {
	server := informertest.NewServer(informertest.ServerOptions{NoCompression: true})
	maps := server.Add(configMaps)
	const objects = 100_000
	value := strings.Repeat("x", 3500)
	err := maps.LoadJSON(func(yield func([]byte) bool) {
		for i := range objects {
			if !yield(fmt.Appendf(nil, `{"metadata":{"namespace":"ns","name":"map-%d"},"data":{"value":"%s"}}`, i, value)) {
				return
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	loopback := httptest.NewServer(server)
	defer loopback.Close()
	b.ReportAllocs()
	for b.Loop() {
		response, err := http.Get(loopback.URL + "/api/v1/configmaps?limit=0")
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, response.Body)
		if err != nil {
			b.Fatal(err)
		}
		_ = response.Body.Close()
		b.SetBytes(n)
	}
}
