package sessions_test

import (
	"maps"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

func TestMaxSessions(t *testing.T) {
	s := open(t, sessions.Config{MaxSessions: 2})
	first := s.start(entriesOnly)
	s.stop(first)
	s.stop(s.start(entriesOnly))
	_, err := s.Start(s.ctx, entriesOnly)
	wantErr(t, err, sessions.ErrFull, "2 sessions are kept")
	if err := s.Release(first); err != nil {
		t.Fatal(err)
	}
	s.start(entriesOnly)
}

func TestMaxEvents(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would be an entry
	s := open(t, sessions.Config{MaxEvents: 3})
	past := s.tl.Now()
	id := s.start(entriesOnly)
	for range 5 { // recorded now, but of a time before the session: these take no room
		if _, err := marks.Measure(s.ctx, "old", marks.MeasureOptions{Start: marks.At(past), End: marks.At(past)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		marks.Mark(s.ctx, name)
	}
	got := s.stop(id)
	if st := got.Stats(); eventsOf(got) != "a b c" || st.Dropped != 2 || st.Entries != 3 {
		t.Errorf("%q, %+v", eventsOf(got), st)
	}
}

// The largest number is no other.
func TestLargestMaxEvents(t *testing.T) {
	for _, o := range []sessions.StartOptions{entriesOnly, toSearch} {
		s := open(t, sessions.Config{MaxEvents: math.MaxInt})
		id := s.start(o)
		marks.Mark(s.ctx, "a")
		s.tl.Deliver()
		if got := s.Statuses()[0]; got.Entries < 1 || got.Dropped != 0 { // a garbage collection is an entry, too
			t.Errorf("got %+v, want one entry or more", got)
		}
		s.stop(id)
	}
}

// Entries that the timeline had no room for are counted.
func TestLost(t *testing.T) {
	s := open(t, sessions.Config{Timeline: observer.NewTimeline(observer.TimelineOptions{MaxPending: 64, Scheduler: func(func()) {}})})
	for range 1000 { // before the session
		marks.Mark(s.ctx, "m")
	}
	id := s.start(entriesOnly)
	const n = 500
	for range n {
		marks.Mark(s.ctx, "m")
	}
	got := s.stop(id)
	came := uint64(len(ask(t, got, sessions.Query{Timeline: 1, Types: []sessions.EventType{sessions.Mark}})))
	if lost := got.Stats().Lost; lost == 0 || lost+came != n {
		t.Errorf("of %d entries %d came and %d were lost", n, came, lost)
	}
}

// A session without a stop ends at MaxLength, can be stopped once, and is forgotten after Keep.
func TestMaxLengthAndKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{MaxLength: time.Minute, Keep: time.Hour})
		id := s.start(entriesOnly)
		marks.Mark(s.ctx, "m")
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if got := s.state(id); got != sessions.Ready || s.Counts()["overlong"] != 1 {
			t.Fatalf("state is %q, %+v", got, s.Counts())
		}
		second := s.start(entriesOnly)
		marks.Mark(s.ctx, "n")
		got := s.stop(id)
		if got.Length() < time.Minute || got.Length() > time.Minute+time.Second || eventsOf(got) != "m" {
			t.Errorf("%v long, %q", got.Length(), eventsOf(got))
		}
		_, err := s.Stop(s.ctx, id)
		wantErr(t, err, sessions.ErrState, "session 1", "stopped before")
		if got := s.state(second); got != sessions.InProgress {
			t.Errorf("the other session is %q", got)
		}
		if got := eventsOf(s.stop(second)); got != "n" {
			t.Errorf("it has %q", got)
		}
		time.Sleep(time.Hour - 2*time.Second)
		synctest.Wait()
		if got := len(s.Statuses()); got != 2 {
			t.Errorf("%d sessions just before they expire", got)
		}
		if err := s.Release(second); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		_, err = s.Session(id)
		wantErr(t, err, sessions.ErrNotFound, "has expired")
		if got, want := s.Counts(), map[string]uint64{"started": 2, "stopped": 2, "overlong": 1, "released": 1, "expired": 1}; !maps.Equal(got, want) {
			t.Errorf("counts are %+v, want %+v", got, want)
		}
		s.Close()
	})
}

func TestKeepForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{Keep: -1})
		id := s.start(entriesOnly)
		s.stop(id)
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if got := s.state(id); got != sessions.Ready {
			t.Errorf("state is %q", got)
		}
		s.Close()
	})
}

// A session that runs does not keep the requests that are over.
func TestRequestsAreNotKept(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(entriesOnly)
	const n = 10_000
	var some []weak.Pointer[observer.Timeline]
	for i := range n {
		child := s.tl.NewChild()
		marks.Mark(observer.NewContext(s.ctx, child), "m")
		(*record.Timeline)(child).Record(record.Navigation, "/x", 0, child.Now(), nil)
		child.Close()
		if i%500 == 0 {
			some = append(some, weak.Make(child))
			s.tl.Deliver()
		}
	}
	s.tl.Deliver()
	// The last may be in a pool's memory. Others are on the stack of a pass until that has ended.
	for began, alive := time.Now(), some; len(alive) > 1; {
		runtime.GC()
		alive = slices.DeleteFunc(alive, func(p weak.Pointer[observer.Timeline]) bool { return p.Value() == nil })
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%d of %d timelines are still in memory", len(alive), n/500)
		}
	}
	got := s.stop(id)
	frames := map[uint32]bool{}
	for _, tl := range got.Timelines() {
		if tl.Name == "/x" {
			frames[tl.FrameID] = true
		}
	}
	if len(frames) != n {
		t.Errorf("%d frames, want %d; %+v", len(frames), n, got.Stats())
	}
}
