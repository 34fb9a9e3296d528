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
	// Output:
	// namespace web [web/a web/b]
	// team red [db/c web/a]
	// team green []
	// index "node" of ["namespace" "team"]: informer: unknown index
}
