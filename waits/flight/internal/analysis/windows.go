package analysis

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/tracelog"
)

// A window is a time of the trace in which a wanted request runs.
type window struct{ start, end xtrace.Time }

// locate returns the windows of the wanted roots, in order and disjoint. began is the begin of the
// trace.
func locate(s *source, wanted []Root) (windows []window, began time.Time, err error) {
	found := make(map[trace.SpanID]*window, len(wanted))
	for _, root := range wanted {
		found[root.SpanID] = nil
	}
	first, last := xtrace.Time(0), xtrace.Time(0)
	err = s.events(func(event *xtrace.Event) {
		last = event.Time()
		if first == 0 {
			first = last
		}
		if event.Kind() == xtrace.EventSync && began.IsZero() {
			if clock := event.Sync().ClockSnapshot; clock != nil {
				began = clock.Wall.Add(first.Sub(clock.Trace))
			}
		}
		if event.Kind() != xtrace.EventLog {
			return
		}
		log := event.Log()
		note := tracelog.Parse(log.Category, log.Message)
		w, ok := found[note.SpanID]
		if !ok {
			return
		}
		switch note.Kind {
		case tracelog.RootStart:
			found[note.SpanID] = &window{start: last}
		case tracelog.SpanEnd:
			if w == nil {
				w = &window{start: first}
				found[note.SpanID] = w
			}
			if w.end == 0 {
				w.end = last
			}
		default:
		}
	})
	for _, root := range wanted {
		w := found[root.SpanID]
		if w == nil {
			continue
		}
		if w.end == 0 {
			w.end = last
		}
		from, _ := root.fit(w.start, w.end)
		windows = append(windows, window{from, w.end})
	}
	return union(windows), began, err
}

func union(windows []window) []window {
	slices.SortFunc(windows, func(a, b window) int { return cmp.Compare(a.start, b.start) })
	merged := windows[:0]
	for _, w := range windows {
		if n := len(merged); n > 0 && w.start <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, w.end)
			continue
		}
		merged = append(merged, w)
	}
	return merged
}

// overlap reports whether a part of [from, to] lies in a window. It runs for each event.
func overlap(windows []window, from, to xtrace.Time) bool {
	low, high := 0, len(windows)
	for low < high {
		if middle := (low + high) / 2; windows[middle].end < from {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low < len(windows) && windows[low].start <= to
}
