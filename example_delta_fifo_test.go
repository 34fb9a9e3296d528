// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"

	"github.com/informerkit/informer"
)

// A queue takes any type that has a key, and needs no Reflector: here it stands between
// two listings of a folder and whoever wants to hear of the difference.
func ExampleDeltaFIFO() {
	type file struct {
		Name string
		Size int
	}
	ctx := context.Background()
	queue := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[file]{
		KeyFunc: func(f file) (string, error) { return f.Name, nil },
	})
	report := func(deltas informer.Deltas[file]) error {
		for _, d := range deltas {
			fmt.Println(d.Type, d.Key, d.Object.Size)
		}
		return nil
	}

	_ = queue.Replace(ctx, []file{{"a.txt", 1}, {"b.txt", 2}, {"c.txt", 3}}, "")
	_ = queue.Replace(ctx, []file{{"a.txt", 1}, {"b.txt", 20}}, "")
	for queue.Len() > 0 {
		_ = queue.Pop(ctx, report)
	}
	fmt.Println("synced:", queue.HasSynced())

	// Output:
	// Replaced a.txt 1
	// Replaced b.txt 2
	// Replaced b.txt 20
	// Replaced c.txt 3
	// Deleted c.txt 3
	// synced: true
}
