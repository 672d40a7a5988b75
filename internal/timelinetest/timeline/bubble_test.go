//go:build go1.25

package timeline_test

import (
	"testing"
	"testing/synctest"
)

// bubble runs f where time passes only while all goroutines wait.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// settle returns when all other goroutines of the bubble wait.
func settle() { synctest.Wait() }

// still runs f while no time passes.
func still(t *testing.T, f func()) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { f() })
}
