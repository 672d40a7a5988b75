package timeline_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Times that cannot be added are errors that name them.
func TestTimesOutOfRange(t *testing.T) {
	tl := newManual()
	tl.now = time.Hour
	child := tl.NewChild()
	for _, c := range []struct {
		name            string
		start, duration time.Duration
		want            string // in the error; "" for none
	}{
		{"start of 292 years", math.MaxInt64, 0, "2562047h47m16.854775807s"},
		{"start of -292 years", math.MinInt64, 0, "-2562047h47m16.854775808s"},
		{"duration of 292 years", 0, math.MaxInt64, "2562047h47m16.854775807s"},
		{"duration of -292 years", 0, math.MinInt64, "-2562047h47m16.854775808s"},
		{"an end of 200 years", 1e9 * time.Second * 3, 1e9 * time.Second * 3, "833333h20m0s"},
		{"the first moment after the range", record.MaxTime - time.Hour + 1, 0, "146 years"},
		{"the last moment", record.MaxTime - time.Hour, 0, ""},
		{"the first moment", -record.MaxTime - time.Hour, 0, ""},
		{"all there is", -record.MaxTime - time.Hour, 2 * record.MaxTime, ""},
	} {
		e, err := rec(child).NewEntry(record.Measure, "x", c.start, c.duration)
		if c.want == "" {
			if err != nil || e.StartTime() != c.start || e.Duration() != c.duration {
				t.Errorf("%s: got %v, %v", c.name, e, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"x"`) {
			t.Errorf("%s: got error %v, want one with %s", c.name, err, c.want)
		}
	}
	for _, at := range []time.Duration{-1, record.MaxTime + 1, math.MaxInt64} {
		if err := rec(child).SetTiming(record.ResponseEnd, at); err == nil || !strings.Contains(err.Error(), at.String()) {
			t.Errorf("SetTiming %v: got %v, want an error", at, err)
		}
	}
}

// Where there is no error to return, a time out of range becomes the nearest one.
func TestTimesOutOfRangeAreRecorded(t *testing.T) {
	tl := newManual()
	tl.now = time.Hour
	child := tl.NewChild()
	distant := &rec(observer.NewTimeline(observer.TimelineOptions{})).NewUnit(time.Time{}, nil).Timeline
	for _, d := range []time.Duration{math.MaxInt64, math.MinInt64} {
		rec(child).Record(record.Measure, "start", d, 0, nil)
		rec(child).Record(record.Measure, "duration", 0, d, nil)
		rec(child).Record(record.Measure, "both", d, d, nil)
		distant.Record(record.Measure, "distant", d, d, nil)
	}
	e, err := rec(observer.NewTimeline(observer.TimelineOptions{})).NewEntry(record.Measure, "queued", record.MaxTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	rec(child).Queue(context.Background(), e)
	process := newManual()
	process.now = math.MaxInt64
	late := process.NewChild()
	rec(late).Record(record.Measure, "late", 0, time.Second, nil)
	if got := late.Entries()[0]; got.StartTime() != 0 || got.Duration() != 0 {
		t.Errorf("on a request that began after the range there is %v, want a request that begins and ends with the range", got)
	}
	started := &startTimes{}
	for _, d := range []time.Duration{math.MaxInt64, math.MinInt64} {
		p := record.Place{Timeline: rec(child), Tracer: started}
		p.Start(context.Background(), "started", d)
	}
	for _, at := range started.all {
		if !at.Equal(time.Unix(0, at.UnixNano())) {
			t.Errorf("the tracer was told of a start at %v: Unix nanoseconds cannot express it", at)
		}
	}
	if len(started.all) != 2 {
		t.Errorf("the tracer was told of %d starts, want 2", len(started.all))
	}
	for _, e := range append(child.Entries(), view(distant).Entries()...) {
		start := e.StartTime() + time.Hour
		if e.Timeline() == child && (start.Abs() > record.MaxTime || (start+e.Duration()).Abs() > record.MaxTime) {
			t.Errorf("%v begins %v after the process timeline", e, start)
		}
		if at := e.Time(); !at.Equal(time.Unix(0, at.UnixNano())) || !at.Add(e.Duration()).Equal(time.Unix(0, at.Add(e.Duration()).UnixNano())) {
			t.Errorf("%v: Unix nanoseconds cannot express it", e)
		}
	}
	if got := child.EntriesByName("queued"); len(got) != 1 || got[0].StartTime() != record.MaxTime-time.Hour {
		t.Errorf("got %v", got)
	}
}

// startTimes is a tracer that keeps when spans were to start.
type startTimes struct {
	record.Tracer // nil: it is not asked for more

	all []time.Time
}

func (s *startTimes) Measure(any, record.Measured) {}
func (s *startTimes) IDs(any) record.SpanIDs       { return record.SpanIDs{} }
func (s *startTimes) Start(ctx context.Context, _ record.Destination, _ string, at time.Time) (context.Context, record.Opened) {
	s.all = append(s.all, at)
	return ctx, nil
}
