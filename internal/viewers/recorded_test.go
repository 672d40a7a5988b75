package viewers_test

import (
	"errors"
	"io"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/viewers"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

var base = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const ms = time.Millisecond

// handMade is a session with whatever a test wants in it, also what no session has.
type handMade struct {
	length    time.Duration
	stats     sessions.Stats
	trace     *profile.Trace
	timelines []sessions.Timeline
	events    map[sessions.TimelineID][]sessions.Event
	samples   map[sessions.TimelineID][]profile.Sample
}

func (h *handMade) Started() time.Time             { return base }
func (h *handMade) Length() time.Duration          { return h.length }
func (h *handMade) Stats() sessions.Stats          { return h.stats }
func (h *handMade) Trace() *profile.Trace          { return h.trace }
func (h *handMade) Timelines() []sessions.Timeline { return h.timelines }
func (h *handMade) All(id sessions.TimelineID) iter.Seq[sessions.Event] {
	return slices.Values(h.events[id])
}
func (h *handMade) Samples(id sessions.TimelineID) iter.Seq[profile.Sample] {
	return slices.Values(h.samples[id])
}
func (h *handMade) Since(s profile.Sample) time.Duration { return s.Timestamp - h.trace.Started }

// writers write files of sessions by the names of their formats.
var writers = map[string]func(io.Writer, viewers.Recorded) error{
	"firefox":    func(w io.Writer, s viewers.Recorded) error { return viewers.WriteRecordedFirefox(w, s) },
	"speedscope": viewers.WriteRecordedSpeedscope,
}

func interval(start, end time.Duration) sessions.Interval {
	return sessions.Interval{Start: start, End: end}
}

// aSession has a request on two lanes, all types of events, and samples of all markers.
func aSession() *handMade {
	at := func(t time.Duration, stack int, m profile.Marker) profile.Sample {
		return profile.Sample{Timestamp: time.Second + t, StackID: stack, ContextID: profile.None, Count: 1, Weight: 10 * ms, Marker: m}
	}
	tr := &profile.Trace{
		Resources: []string{"/src/shop/main.go", "/src/runtime/proc.go"},
		Frames: []profile.Frame{{Name: "main.main", ResourceID: 0, Line: 7}, {Name: "main.render", ResourceID: 0, Line: 70},
			{Name: "runtime.gopark", ResourceID: 1, Line: 300}, {Name: "cgo", ResourceID: profile.None}},
		Stacks: []profile.Stack{{FrameID: 0, ParentID: profile.None}, {FrameID: 1, ParentID: 0}, {FrameID: 2, ParentID: 1}, {FrameID: 3, ParentID: profile.None}},
		Samples: []profile.Sample{at(0, 0, profile.Ordinary), at(10*ms, 1, profile.Ordinary), at(20*ms, 1, profile.GC),
			at(30*ms, 2, profile.Idle), at(40*ms, 3, profile.Other), at(50*ms, profile.None, profile.Syscall)},
		Interval: 10 * ms, Engine: "cpu", Started: time.Second, Stopped: 2 * time.Second,
	}
	traceID, spanID := trace.TraceID{15: 0xab}, trace.SpanID{7: 0xcd}
	h := &handMade{
		length: time.Second, stats: sessions.Stats{Entries: 9, Samples: 6, Lost: 1, Dropped: 2}, trace: tr,
		timelines: []sessions.Timeline{
			{ID: 1, FrameID: 1, Name: "process", Interval: interval(0, 60*ms), Events: 2, Samples: 3},
			{ID: 2, FrameID: 2, Name: "gc", Interval: interval(5*ms, 6*ms), Events: 1},
			{ID: 3, FrameID: 3, Name: "GET /products/{id}", TraceID: traceID, SpanID: spanID, Interval: interval(-20*ms, 50*ms), Events: 6, Samples: 3},
			{ID: 4, FrameID: 3, Lane: 1, Name: "GET /products/{id}", TraceID: traceID, SpanID: spanID, Interval: interval(2*ms, 30*ms), Events: 1},
		},
		events: map[sessions.TimelineID][]sessions.Event{
			1: {
				{ID: 1, Type: sessions.Measure, Name: "tick", Interval: interval(0, 60*ms), Time: 60 * ms},
				{ID: 2, Type: sessions.Samples, Name: "main.main", Interval: interval(0, 10*ms), Time: 10 * ms, ParentID: 1},
			},
			2: {{ID: 1, Type: sessions.GC, Name: "gc", Interval: interval(5*ms, 6*ms), Time: ms, Detail: []slog.Attr{slog.Int("cycle", 3)}}},
			3: {
				{ID: 1, Type: sessions.Request, Name: "GET /products/{id}", Interval: interval(-20*ms, 50*ms), Time: 20 * ms, Overhead: 1500, ChildCount: 3,
					Detail: []slog.Attr{slog.String("type", "no schema's"), slog.Any("cause", errors.New("text")), slog.Bool("ok", true)}},
				{ID: 2, ParentID: 1, Type: sessions.Measure, Name: "render", Interval: interval(0, 30*ms), Time: 20 * ms, ChildCount: 1,
					Detail: []slog.Attr{slog.Group("page", slog.Int("rows", 12), slog.Duration("budget", 100*ms)), slog.Int("n", 1), slog.Int("n", 2), slog.Float64("ratio", 0.5)}},
				{ID: 3, ParentID: 2, Type: sessions.Samples, Name: "main.render", Interval: interval(10*ms, 20*ms), Time: 10 * ms},
				{ID: 4, ParentID: 2, Type: sessions.Mark, Name: "cache.miss", Interval: interval(12*ms, 12*ms),
					Detail: []slog.Attr{slog.Time("when", base), slog.Int("n", 1)}},
				{ID: 5, ParentID: 1, Type: sessions.Mark, Name: "cache.miss", Interval: interval(31*ms, 31*ms),
					Detail: []slog.Attr{slog.String("n", "many"), slog.Uint64("huge", math.MaxUint64), slog.Int64("least", math.MinInt64), slog.Float64("nan", math.NaN())}},
				{ID: 6, ParentID: 1, Type: sessions.Call, Name: "GET", Interval: interval(32*ms, 50*ms), Time: 18 * ms},
				{ID: 7, ParentID: 6, Type: sessions.Server, Name: "db", Interval: interval(32*ms, 32*ms), Detail: []slog.Attr{slog.Duration("duration", ms)}},
			},
			4: {{ID: 1, Type: sessions.Measure, Name: "prefetch", Interval: interval(2*ms, 30*ms), Time: 28 * ms}},
		},
	}
	h.samples = map[sessions.TimelineID][]profile.Sample{1: {tr.Samples[0], tr.Samples[4], tr.Samples[5]}, 3: tr.Samples[1:4]}
	return h
}

// failing is a writer that takes some bytes and no more.
type failing struct{ left int }

var errFull = errors.New("full")

func (w *failing) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestFilesFailWithTheirWriter(t *testing.T) {
	h := aSession()
	h.timelines[0].Name = strings.Repeat("long", 100)
	for range 12 { // so that a file is larger than a buffer
		h.events[1] = append(h.events[1], h.events[1]...)
	}
	for name, write := range writers {
		for _, left := range []int{0, 1 << 17} {
			if err := write(&failing{left}, h); !errors.Is(err, errFull) {
				t.Errorf("%s on a writer of %d bytes: %v, want its error", name, left, err)
			}
		}
	}
}

// rows yields some element often, and counts how often.
func rows[T any](element T, times int, count *int) iter.Seq[T] {
	return func(yield func(T) bool) {
		for range times {
			if *count++; !yield(element) {
				return
			}
		}
	}
}

// An endless session has many timelines, each of many events and samples, which it counts as
// they are looked at.
type endless struct {
	*handMade
	looked int
}

func (e *endless) All(sessions.TimelineID) iter.Seq[sessions.Event] {
	return rows(sessions.Event{Type: sessions.Measure, Name: "m", Interval: interval(0, ms)}, 1<<20, &e.looked)
}

func (e *endless) Samples(sessions.TimelineID) iter.Seq[profile.Sample] {
	return rows(e.trace.Samples[0], 1<<20, &e.looked)
}

// When the writer fails, because the client is gone say, no more of the session is looked at.
func TestFilesStopWithTheirWriter(t *testing.T) {
	for name, write := range writers {
		s := &endless{handMade: aSession()}
		s.timelines = slices.Repeat(s.timelines, 20_000)
		if err := write(&failing{}, s); !errors.Is(err, errFull) {
			t.Errorf("%s: %v, want the writer's error", name, err)
		}
		if most := 1 << 16; s.looked > most { // the buffer's bytes
			t.Errorf("%s looked at %d events and samples, want %d at most", name, s.looked, most)
		}
	}
}
