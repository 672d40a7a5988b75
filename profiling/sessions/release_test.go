package sessions_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/sessions"
)

func TestRelease_SP4_SP5_SP6(t *testing.T) {
	s := open(t, sessions.Config{MaxSessions: 3})
	a := s.start(entriesOnly)
	wantErr(t, s.Release(a), sessions.ErrState, "in progress")
	wantErr(t, s.Release(9), sessions.ErrNotFound, "session 9")
	session := s.stop(a)
	s.stop(s.start(entriesOnly))
	c := s.start(entriesOnly)
	_, err := s.Start(s.ctx, entriesOnly)
	wantErr(t, err, sessions.ErrInProgress)
	if err := s.Release(a); err != nil {
		t.Error(err)
	}
	_, err = s.Session(a)
	wantErr(t, err, sessions.ErrNotFound, "session 1")
	wantErr(t, s.Release(a), sessions.ErrNotFound)
	if session.ID() != a || len(s.Statuses()) != 2 {
		t.Errorf("%+v", s.Statuses())
	}
	wantErr(t, s.Release(0), sessions.ErrNotFound, "session 0")
	if err := s.Release(s.Statuses()[0].ID); err != nil {
		t.Error(err)
	}
	wantErr(t, s.Release(c), sessions.ErrState) // in progress
	if got := s.Statuses(); len(got) != 1 || got[0].ID != c || got[0].State != sessions.InProgress {
		t.Errorf("after releasing all: %+v", got)
	}
	s.stop(c)
	if err := s.Release(c); err != nil || len(s.Statuses()) != 0 {
		t.Errorf("%v, left are %+v", err, s.Statuses())
	}
	if got := s.Counts()["released"]; got != 3 {
		t.Errorf("%d released", got)
	}
	if d := s.start(entriesOnly); d != c+1 {
		t.Errorf("id %d after %d", d, c)
	}
}

// A session that is released is not kept in memory until it would have expired.
func TestReleaseFreesMemory_SP5(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	session := weak.Make(s.stop(id))
	runtime.GC()
	if session.Value() == nil {
		t.Fatal("a session is gone that was not released")
	}
	if err := s.Release(id); err != nil {
		t.Fatal(err)
	}
	// Its goroutine may not have returned yet, and the runtime has stopped timers until it looks at them again.
	for began := time.Now(); session.Value() != nil; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Since(began) > 2*time.Minute {
			t.Fatal("a session that was released is still in memory")
		}
	}
}

// A session that is released while it is put together is never there.
func TestReleaseWhileProcessing_SP5(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // where the session is processed until it is released
		s := open(t, sessions.Config{})
		id := s.start(entriesOnly)
		for range 20_000 { // several slices
			marks.Mark(s.ctx, "m")
		}
		release := s.hold()
		defer release()
		stopped := make(chan error)
		go func() {
			_, err := s.Stop(context.Background(), id)
			stopped <- err
		}()
		for st, err := range s.Watch(s.ctx, id) {
			if err != nil {
				t.Fatal(err)
			}
			if st.State == sessions.Processing {
				break
			}
		}
		if err := s.Release(id); err != nil {
			t.Fatal(err)
		}
		release()
		wantErr(t, <-stopped, sessions.ErrNotFound, "was released")
		s.Close()
	})
}
