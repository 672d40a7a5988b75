package marks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Random marks, clearings and measures on a process and a request give what the
// specification's sentences say: UT-5, UT-8, UT-14 to UT-17, UT-21 and UT-22.
func TestAgainstModel_UT14_UT15_UT21_UT22(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now time.Duration
		process := observer.NewTimeline(observer.TimelineOptions{
			Clock: func() time.Duration { return now }, Scheduler: func(func()) {},
			BufferSize: 5, ChildBufferSize: 5, // names are few enough for Latest to know them all
		})
		now = 1000
		child := process.NewChild()
		ctxs := map[bool]*observer.Timeline{false: process, true: child}
		origins := map[bool]time.Duration{false: 0, true: 1000}
		recent := map[bool]map[string]time.Duration{false: {}, true: {}}
		name := rapid.SampledFrom([]string{"a", "b", "c", ""})
		when := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.IntRange(-2, 50).Draw(t, "at")) })

		t.Repeat(map[string]func(*rapid.T){
			"mark": func(t *rapid.T) {
				now++
				r, n := rapid.Bool().Draw(t, "request"), name.Draw(t, "name")
				marks.Mark(observer.NewContext(context.Background(), ctxs[r]), n)
				recent[r][n] = now - origins[r]
			},
			"mark at": func(t *rapid.T) {
				r, n, at := rapid.Bool().Draw(t, "request"), name.Draw(t, "name"), when.Draw(t, "when")
				_, err := marks.MarkAt(observer.NewContext(context.Background(), ctxs[r]), n, at)
				if errors.Is(err, marks.ErrNegative) != (at < 0) || (err == nil) != (at >= 0) {
					t.Fatalf("UT-5: MarkAt %v gives %v", at, err)
				}
				if err == nil {
					recent[r][n] = at
				}
			},
			"clear": func(t *rapid.T) {
				r, n := rapid.Bool().Draw(t, "request"), name.Draw(t, "name")
				if rapid.Bool().Draw(t, "all") {
					marks.ClearMarks(observer.NewContext(context.Background(), ctxs[r]))
					clear(recent[r])
				} else {
					marks.ClearMarks(observer.NewContext(context.Background(), ctxs[r]), n)
					delete(recent[r], n)
				}
			},
			"flush": func(*rapid.T) { (*record.Timeline)(process).Flush() },
			"measure": func(t *rapid.T) {
				now++
				r := rapid.Bool().Draw(t, "request")
				var o marks.MeasureOptions
				// A point is absent, a name or a time; resolve is "convert a mark to
				// a timestamp".
				point := func(label string) (p marks.Point, given bool, resolve func() (time.Duration, error)) {
					switch rapid.IntRange(0, 2).Draw(t, label) {
					case 1:
						n := name.Draw(t, label+" name")
						return marks.Named(n), true, func() (time.Duration, error) {
							if at, ok := recent[r][n]; ok {
								return at, nil
							}
							return 0, marks.ErrNoMark
						}
					case 2:
						at := when.Draw(t, label+" time")
						return marks.At(at), true, func() (time.Duration, error) { return at, negative(at) }
					}
					return marks.Point{}, false, nil
				}
				var hasStart, hasEnd, hasDuration bool
				var startOf, endOf func() (time.Duration, error)
				var length time.Duration
				o.Start, hasStart, startOf = point("start")
				o.End, hasEnd, endOf = point("end")
				if hasDuration = rapid.Bool().Draw(t, "duration given"); hasDuration {
					length = when.Draw(t, "duration")
					o.Duration = &length
				}
				start, end := time.Duration(0), now-origins[r]
				want := func() (err error) {
					switch {
					case hasDuration && !hasStart && !hasEnd, hasDuration && hasStart && hasEnd:
						return marks.ErrOptions
					case hasEnd:
						if end, err = endOf(); err != nil {
							return err
						}
					case hasStart && hasDuration:
						if start, err = startOf(); err != nil {
							return err
						}
						end = start + length
						return negative(length)
					}
					switch {
					case hasStart:
						start, err = startOf()
					case hasDuration:
						start, err = end-length, negative(length)
					}
					return err
				}()
				m, err := marks.Measure(observer.NewContext(context.Background(), ctxs[r]), "m", o)
				if !errors.Is(err, want) || (want == nil) != (err == nil) {
					t.Fatalf("got %v, want %v", err, want)
				}
				if err == nil && (m.StartTime() != start || m.Duration() != end-start) {
					t.Fatalf("got %v for %v, want %v for %v", m.StartTime(), m.Duration(), start, end-start)
				}
				marks.ClearMeasures(observer.NewContext(context.Background(), ctxs[r]))
			},
		})
	})
}

func negative(d time.Duration) error {
	if d < 0 {
		return marks.ErrNegative
	}
	return nil
}
