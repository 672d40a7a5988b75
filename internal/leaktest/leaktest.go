// Package leaktest finds goroutines that still run after the tests.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end. Only a leak takes so long. goleak alone waits
// for 0.4 s, in which a busy machine may not have run them.
const patience = time.Minute

// Main runs the tests of a package and exits. The exit code is 1 if the tests pass but goroutines
// remain.
func Main(m *testing.M, options ...goleak.Option) {
	code := m.Run()
	if code == 0 {
		if err := Find(options...); err != nil {
			fmt.Fprintln(os.Stderr, "goleak:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Find waits up to a minute for all goroutines to end. If goroutines remain, Find returns an error
// that names these goroutines.
func Find(options ...goleak.Option) error {
	err := goleak.Find(options...)
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); {
		err = goleak.Find(options...)
	}
	return err
}
