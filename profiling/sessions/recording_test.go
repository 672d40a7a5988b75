package sessions_test

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/profiling/sessions"
)

// The status of a session that is ready has the sampler's last state and the session's counts.
func TestStatusWhenReady(t *testing.T) {
	s := open(t, sessions.Config{})
	s.play()
	got := s.stop(s.start(sessions.StartOptions{}))
	st := s.Statuses()[0]
	if !strings.HasSuffix(st.Sampler, ", stopped") && !strings.Contains(st.Sampler, ", stopped: ") ||
		st.Samples != got.Stats().Samples || st.Entries != got.Stats().Entries || st.Progress != 1 {
		t.Errorf("status is %+v", st)
	}
}

// Stop of a session that is ready does not fail, even if its context is over.
func TestStopWhenReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			s := open(t, sessions.Config{MaxLength: time.Minute})
			id := s.start(entriesOnly)
			time.Sleep(time.Minute + time.Second)
			synctest.Wait()
			if got := s.state(id); got != sessions.Ready {
				t.Fatalf("state is %q", got)
			}
			if _, err := s.Stop(over, id); err != nil {
				t.Fatal(err)
			}
			s.Close()
		}
	})
}

// A session may start while the one before is processed.
func TestStartWhileProcessing_SP3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the session waits for the callback as long as the test does
		s := open(t, sessions.Config{})
		first := s.start(entriesOnly)
		release := s.hold()
		defer release()
		_, _ = s.Stop(over, first)
		second := s.start(entriesOnly)
		if a, b := s.state(first), s.state(second); a != sessions.Processing || b != sessions.InProgress {
			t.Errorf("states are %q and %q", a, b)
		}
		release()
		s.Close()
	})
}

// A session that was released while it was processed does not expire.
func TestNoExpiryAfterRelease_SP5(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{Keep: time.Minute})
		id := s.start(entriesOnly)
		release := s.hold()
		_, _ = s.Stop(over, id)
		if err := s.Release(id); err != nil {
			t.Fatal(err)
		}
		release()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got, want := s.Counts(), map[string]uint64{"started": 1, "stopped": 1, "released": 1}; !maps.Equal(got, want) {
			t.Errorf("counts are %+v, want %+v", got, want)
		}
		s.Close()
	})
}
