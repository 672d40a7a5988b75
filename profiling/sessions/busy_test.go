package sessions_test

import (
	"io"
	"log/slog"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// A session that has no samples because other code had the CPU profiler has all else, and gives the reason.
func TestProfilerInUseElsewhere(t *testing.T) {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	r := sessions.NewRecorder(sessions.Config{Logger: slog.New(slog.DiscardHandler)})
	defer r.Close()
	id, err := r.Start(t.Context(), sessions.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Stop(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); st.Samples != 0 || st.Profiling.BusyGaps != 1 || st.Profiling.BusyTime <= 0 {
		t.Errorf("stats are %+v, want no samples and how long the profiler was in use", st)
	}
	for _, status := range r.Statuses() {
		if !strings.Contains(status.Sampler, ", stopped: ") || !strings.Contains(status.Sampler, profiling.ErrBusy.Error()) {
			t.Errorf("the sampler is %q, want its state and why there are no samples", status.Sampler)
		}
	}
}
