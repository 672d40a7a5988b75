//go:build perfline_portable

package profiling

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// Without the runtime's internals, each hub's engine gives the reason, and one line in the log
// names the loss.
func TestEnginesOfAPortableBuild(t *testing.T) {
	for _, c := range []struct {
		engine profile.Engine
		loss   string
		wall   bool
	}{
		{profile.EngineWindow, "per-sample timestamps unavailable", false},
		{profile.EngineWall, "fast goroutine profiles unavailable", true},
	} {
		t.Run(string(c.engine), func(t *testing.T) {
			log := logged(t)
			synctest.Test(t, func(t *testing.T) {
				d := &desk{T: t, hub: newHub(c.wall)}
				if !c.wall { // a real profile's reader is in no bubble
					d.hub.keeper.newFallback = func() sampling.Engine { return &fakeEngine{name: "window"} }
				}
				for range 2 {
					p := d.start(t.Context(), 10*time.Millisecond, 0)
					d.wantEngine(p, c.engine, "perfline_portable")
					d.stop(p)
				}
			})
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, c.loss) {
				t.Errorf("log:\n%s\nwant one line with %q", got, c.loss)
			}
		})
	}
}
