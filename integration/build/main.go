// Command build builds the backends that the integration tests run, where they are not in the
// user's cache folder yet. It is for a machine that has none: tests that build them beside the
// tests of other packages may run out of time.
//
//	go run -C integration ./build
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

func main() {
	for _, name := range backend.Names() {
		began := time.Now()
		if err := backend.Build(context.Background(), name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%-10s %4.0f s\n", name, time.Since(began).Seconds())
	}
}
