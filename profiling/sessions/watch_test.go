package sessions_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/profiling/sessions"
)

// Watch tells the status at once, then every 100 ms, until the session is ready.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{})
		id := s.start(entriesOnly)
		began := time.Now()
		var states []sessions.State
		for st, err := range s.Watch(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			if want := time.Duration(min(len(states), 3)) * 100 * ms; time.Since(began) != want {
				t.Errorf("status %d came after %v, want %v", len(states), time.Since(began), want)
			}
			states = append(states, st.State)
			if len(states) == 4 {
				s.stop(id)
			}
		}
		if len(states) != 5 || states[0] != sessions.InProgress || states[4] != sessions.Ready {
			t.Errorf("states were %q", states)
		}
		s.Close()
	})
}

func TestWatchEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(s *studio, id sessions.SessionID, cancel func())
		want error
	}{
		{"with its context", func(_ *studio, _ sessions.SessionID, cancel func()) { cancel() }, context.Canceled},
		{"when the recorder is closed", func(s *studio, _ sessions.SessionID, _ func()) { s.Close() }, sessions.ErrNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, sessions.Config{})
				id := s.start(entriesOnly)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var last error
				n := 0
				for _, err := range s.Watch(ctx, id) {
					if n++; n == 1 {
						c.end(s, id, cancel)
					}
					last = err
				}
				wantErr(t, last, c.want)
				s.Close()
			})
		})
	}
	s := open(t, sessions.Config{})
	for _, err := range s.Watch(t.Context(), 7) {
		wantErr(t, err, sessions.ErrNotFound, "session 7")
	}
	for _, err := range s.Watch(t.Context(), s.start(entriesOnly)) {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

// A status that is as before is not told again.
func TestWatchTellsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{})
		id := s.start(entriesOnly)
		release := s.hold()
		_, _ = s.Stop(over, id)
		time.AfterFunc(950*ms, release) // between two ticks
		var states []sessions.State
		for st, err := range s.Watch(t.Context(), id) {
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, st.State)
		}
		if want := []sessions.State{sessions.Processing, sessions.Ready}; !slices.Equal(states, want) {
			t.Errorf("states were %q, want %q", states, want)
		}
		s.Close()
	})
}

// Watch ends with an error when the session is released while it is processed.
func TestWatchReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the session is processed until it is released
		s := open(t, sessions.Config{})
		id := s.start(entriesOnly)
		release := s.hold()
		defer release()
		_, _ = s.Stop(over, id)
		var last error
		for st, err := range s.Watch(t.Context(), id) {
			if err == nil && st.State != sessions.Processing {
				t.Errorf("state is %q", st.State)
			}
			if err == nil {
				if err := s.Release(id); err != nil {
					t.Fatal(err)
				}
			}
			last = err
		}
		wantErr(t, last, sessions.ErrNotFound)
		release()
		s.Close()
	})
}
