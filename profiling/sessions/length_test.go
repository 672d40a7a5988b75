package sessions_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/sessions"
)

// A session with a length ends by itself. That is no loss: it does not count as overlong.
func TestLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{MaxLength: time.Minute})
		id := s.start(sessions.StartOptions{NoSamples: true, Length: 10100 * time.Millisecond})
		marks.Mark(s.ctx, "m")
		if st := s.Statuses()[0]; st.MaxLength != 10100*time.Millisecond {
			t.Errorf("the status is %+v", st)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := s.state(id); got != sessions.InProgress {
			t.Errorf("after 10 s the state is %q", got)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if got := s.state(id); got != sessions.Ready || s.Counts()["overlong"] != 0 {
			t.Fatalf("at its length the state is %q, and the counts are %+v", got, s.Counts())
		}
		if got := s.stop(id); got.Length() != 10100*time.Millisecond || eventsOf(got) != "m" {
			t.Errorf("%v long, %q", got.Length(), eventsOf(got))
		}
		s.Close()
	})
}

// The length of a session that waits counts from the request on. The wait ends at MaxLength.
func TestLengthAfterWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{MaxLength: time.Minute})
		options := toSearch
		options.Length = 5 * time.Second
		id := s.start(options)
		time.Sleep(20 * time.Second)
		if st := s.Statuses()[0]; st.State != sessions.Waiting || st.MaxLength != time.Minute {
			t.Errorf("while it waits, the status is %+v", st)
		}
		s.arrive().leave("/search")
		s.tl.Deliver()
		if st := s.Statuses()[0]; st.State != sessions.InProgress || st.MaxLength != 5*time.Second {
			t.Errorf("after the request, the status is %+v", st)
		}
		time.Sleep(5*time.Second + 500*time.Millisecond)
		synctest.Wait()
		if got := s.state(id); got != sessions.Ready || s.Counts()["overlong"] != 0 {
			t.Errorf("5.5 s after the request, the state is %q, and the counts are %+v", got, s.Counts())
		}
		waits := s.start(options)
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if got := s.state(waits); got != sessions.Ready || s.Counts()["overlong"] != 1 {
			t.Errorf("a minute without the request: the state is %q, and the counts are %+v", got, s.Counts())
		}
		s.Close()
	})
}

func TestWrongLength(t *testing.T) {
	s := open(t, sessions.Config{MaxLength: time.Minute})
	for _, length := range []time.Duration{-1, time.Minute + 1} {
		_, err := s.Start(s.ctx, sessions.StartOptions{NoSamples: true, Length: length})
		wantErr(t, err, sessions.ErrInvalid, length.String(), "from 0 to 1m0s")
	}
}

// The status has the cost of the entries so far.
func TestCost(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	for range 1000 {
		marks.Mark(s.ctx, "m")
	}
	got := s.stop(id)
	if st := s.Statuses()[0]; st.Cost <= 0 || got.EntryCost() <= 0 || st.Cost < got.EntryCost()*1000 {
		t.Errorf("1000 entries cost %v each, and all cost %v", got.EntryCost(), st.Cost)
	}
}
