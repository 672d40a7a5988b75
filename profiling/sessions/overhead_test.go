package sessions_test

import (
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/sessions"
)

// overheadOf returns the overhead that an event has by its counts.
func overheadOf(s *sessions.Session, e sessions.Event, entries int) time.Duration {
	if e.Type == sessions.Samples {
		return time.Duration(e.Detail[0].Value.Int64()) * s.Stats().Profiling.SampleCost
	}
	return time.Duration(entries) * s.EntryCost()
}

// An event's overhead is the measured cost of its entries and samples, and at most its own time (SP-12).
func TestOverhead_SP12(t *testing.T) {
	s := open(t, sessions.Config{})
	player := s.play()
	id := s.start(sessions.StartOptions{})
	player().cost = 3 * time.Microsecond
	outer := marks.Time(s.ctx, "outer")
	for range 10 {
		inner := marks.Time(s.ctx, "inner")
		marks.Mark(s.ctx, "leaf")
		player().sample(1)
		inner.End()
	}
	outer.End()
	got := s.stop(id)
	if got.EntryCost() <= 0 {
		t.Fatalf("an entry costs nothing: %+v", got.Stats())
	}
	seen := map[string]int{}
	for _, tl := range got.Timelines() {
		var children []int
		var all []sessions.Event
		for e := range got.All(tl.ID) {
			all, children = append(all, e), append(children, 0)
			if e.ParentID != 0 && e.Type != sessions.Samples {
				children[e.ParentID-1]++
			}
		}
		for i, e := range all {
			if want := overheadOf(got, e, children[i]); e.Overhead != min(want, e.Time+e.Overhead) {
				t.Errorf("%+v has %d entries and overhead %v, want %v", e, children[i], e.Overhead, want)
			}
			if e.Overhead > 0 {
				seen[e.Type.String()+" "+e.Name]++
			}
		}
	}
	if seen["MEASURE outer"] != 1 || seen["MEASURE inner"] == 0 || seen["MARK leaf"] != 0 {
		t.Errorf("events with overhead are %v", seen)
	}
}

// Samples have overhead where the sampler measures their cost (SP-12).
func TestSampleCost_SP12(t *testing.T) {
	s := open(t, sessions.Config{})
	player := s.play()
	id := s.start(sessions.StartOptions{})
	player().cost = 3 * time.Microsecond
	for range 50 {
		player().sample(1)
	}
	if st := s.Statuses()[0]; st.Cost < 150*time.Microsecond {
		t.Errorf("50 samples of 3 µs cost %v so far", st.Cost)
	}
	got := s.stop(id)
	if st := got.Stats(); st.Samples != 50 || st.Profiling.SampleCost != 3*time.Microsecond {
		t.Errorf("%+v", st)
	}
	for _, tl := range got.Timelines() {
		if tl.Samples > 0 && tl.AggregatedOverhead > 0 {
			return
		}
	}
	t.Errorf("samples cost nothing: %+v", got.Timelines())
}
