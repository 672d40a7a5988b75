package viewers_test

import (
	"fmt"
	"io"
	"iter"
	"log/slog"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// busy is a session of many events, which are made as they are asked for: what memory there is is the encoder's.
type busy struct {
	handMade
	each int // events of a timeline
}

func newBusy(timelines, each, samples int) *busy {
	b := &busy{handMade: *aSession(), each: each}
	b.timelines = nil
	for i := range timelines {
		id := sessions.TimelineID(i + 1)
		b.timelines = append(b.timelines, sessions.Timeline{ID: id, FrameID: uint32(id), Name: "GET /products/{id}",
			TraceID: [16]byte{1}, SpanID: [8]byte{1}, Interval: interval(0, time.Duration(each)*ms)})
	}
	first := b.trace.Samples[1]
	b.trace.Samples = nil
	for i := range samples {
		first.Timestamp = time.Second + time.Duration(i)*ms
		b.trace.Samples = append(b.trace.Samples, first)
	}
	b.samples = map[sessions.TimelineID][]profile.Sample{1: b.trace.Samples}
	return b
}

func (b *busy) All(sessions.TimelineID) iter.Seq[sessions.Event] {
	names := []string{"render", "db.query", "cache.get", "encode"}
	return func(yield func(sessions.Event) bool) {
		detail := []slog.Attr{slog.String("key", "products/42"), slog.Int("rows", 12)}
		for i := range b.each {
			start := time.Duration(i) * ms
			if !yield(sessions.Event{ID: sessions.EventID(i + 1), Type: sessions.Measure, Name: names[i%len(names)], Interval: interval(start, start+900*time.Microsecond), Detail: detail}) {
				return
			}
		}
	}
}

func BenchmarkFiles(b *testing.B) {
	for name, write := range writers {
		for _, n := range []int{1_000, 100_000} {
			b.Run(fmt.Sprintf("%s/events=%d", name, n), func(b *testing.B) {
				s := newBusy(10, n/10, 0)
				b.ReportAllocs()
				for b.Loop() {
					if err := write(io.Discard, s); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
			})
		}
	}
}

// deep is a trace of samples on some stacks, which have all frames but the innermost in common.
func deep(samples, stacks, frames int) *profile.Trace {
	tr := &profile.Trace{Engine: "cpu", Interval: 10 * ms}
	for i := range frames {
		tr.Frames = append(tr.Frames, profile.Frame{Name: fmt.Sprint("caller", i), ResourceID: profile.None})
		tr.Stacks = append(tr.Stacks, profile.Stack{FrameID: i, ParentID: i - 1})
	}
	for i := range stacks {
		tr.Frames = append(tr.Frames, profile.Frame{Name: fmt.Sprint("leaf", i), ResourceID: profile.None})
		tr.Stacks = append(tr.Stacks, profile.Stack{FrameID: frames + i, ParentID: frames - 1})
	}
	for i := range samples {
		tr.Samples = append(tr.Samples, profile.Sample{StackID: frames + i%stacks, ContextID: profile.None, Count: 1, Weight: 10 * ms})
	}
	return tr
}

// The time for a sample depends on its stack in speedscope's format only, which repeats it.
func BenchmarkFilesOfSamples(b *testing.B) {
	for name, write := range writers {
		for _, frames := range []int{40, 500} {
			b.Run(fmt.Sprintf("%s/frames=%d", name, frames), func(b *testing.B) {
				const samples = 100_000
				s := aSession()
				s.trace = deep(samples, 100, frames)
				s.samples = map[sessions.TimelineID][]profile.Sample{1: s.trace.Samples}
				for b.Loop() {
					if err := write(io.Discard, s); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/samples, "ns/sample")
			})
		}
	}
}

// The memory that a file takes to write does not depend on how many events there are.
func TestFilesTakeNoMemoryForEvents(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	for name, write := range writers {
		allocated := func(events int) uint64 {
			s := newBusy(1, events, events)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := write(io.Discard, s); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if few, many := allocated(100), allocated(50_000); many > few+1<<16 {
			t.Errorf("%s: %d bytes for 100 events and samples, %d for 50 000: want some kilobytes more at most", name, few, many)
		}
	}
}
