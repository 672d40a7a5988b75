package perfline_test

import (
	"testing"

	"github.com/perfline/perfline"
)

// The history of the runtime begins with its first use and ends with Shutdown.
func TestRuntimeHistory(t *testing.T) {
	pl, _, _ := start(t, perfline.Config{})
	h := pl.Runtime()
	if pl.Runtime() != h {
		t.Error("the second call begins another history")
	}
	if err := pl.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	h.Stop() // waits for the first sample
	n := len(h.Samples())
	if n > 1 {
		t.Errorf("there are %d samples, want one at most", n)
	}
}

// After Shutdown, a history has no timer.
func TestRuntimeHistoryAfterShutdown(t *testing.T) {
	pl, _, _ := start(t, perfline.Config{})
	if err := pl.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	h := pl.Runtime()
	if n := len(h.Samples()); n > 1 {
		t.Errorf("there are %d samples, want one at most", n)
	}
}
