package perfline_test

import (
	"github.com/perfline/perfline/internal/runtimestats"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline"
)

// The history of the runtime begins with its first use and ends with Shutdown.
func TestRuntimeHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl, _, _ := start(t, perfline.Config{})
		time.Sleep(time.Minute)
		h := (*runtimestats.History)(pl.Runtime())
		if (*runtimestats.History)(pl.Runtime()) != h {
			t.Error("the second call begins another history")
		}
		time.Sleep(12 * time.Second)
		if n := len(h.Samples()); n != 3 {
			t.Errorf("after 12 s there are %d samples, want 3", n)
		}
		if err := pl.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if n := len(h.Samples()); n != 3 {
			t.Errorf("a minute after Shutdown there are %d samples, want 3 as before", n)
		}
	})
}

// After Shutdown, a history takes no more than its first sample.
func TestRuntimeHistoryAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl, _, _ := start(t, perfline.Config{})
		if err := pl.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		h := (*runtimestats.History)(pl.Runtime())
		time.Sleep(time.Minute)
		if n := len(h.Samples()); n > 1 {
			t.Errorf("there are %d samples, want one at most", n)
		}
	})
}
