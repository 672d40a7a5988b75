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
