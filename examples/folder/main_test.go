// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// Added a.txt 3
	// Added b.txt 5
	// Updated a.txt 4
	// Deleted b.txt 5
}
