//go:build !go1.25

package timeline_test

import "testing"

func bubble(t *testing.T, _ func(*testing.T)) {
	t.Helper()
	t.Skip("testing/synctest came with Go 1.25")
}

func settle() { panic("not in a bubble") }
