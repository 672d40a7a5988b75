// Package sinktest tests sinks of timelines. A test of a sink calls [Test].
package sinktest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// A Sink describes the sink under test. The sink forwards a timeline's entries to a receiver,
// through an [observer.Observer] or a [record.Tracer].
type Sink struct {
	// Context is the context of the recorded entries. Some sinks require an active span in Context.
	// Test records about 800 marks and 800 measures under Context. A limit of events for each span
	// must be higher. nil: an empty context.
	Context context.Context //nolint:containedctx // what a test says entries are recorded under

	// Received waits until all recorded entries have arrived, and returns the entries. Entries with
	// the same type and goroutine are sorted by start. Test calls Received once.
	Received func() []Record

	// Resolution is the resolution of the received times. 0: nanoseconds.
	Resolution time.Duration

	// Unsigned is true if the sink swaps the start and the end of a measure with a negative
	// duration.
	Unsigned bool
}

// A Record is an entry that the sink's receiver received.
type Record struct {
	Type     observer.Type
	Name     string
	Start    time.Time
	Duration time.Duration
	Attrs    []slog.Attr // with nested groups, or with keys joined by dots
}

// Test creates a timeline, connects a sink to the timeline by the function open, and records
// entries. The test t fails unless the entries arrive by these rules:
//
//   - Every mark and every measure arrives once, with the recorded name, start and duration. This
//     rule applies to the process timeline and to timelines of requests, even to closed timelines.
//   - Entries of one type that one goroutine records arrive in the order of recording.
//   - Attributes and members of groups arrive. Booleans, numbers and strings arrive as values or as
//     text. Durations, times and lists may arrive in any form.
//   - An entry with an empty name, invalid UTF-8 or a negative duration does not stop other
//     entries.
func Test(t *testing.T, open func(t *testing.T, tl *observer.Timeline) Sink) {
	const shown = 5
	tl := observer.NewTimeline(observer.TimelineOptions{})
	sink := open(t, tl)
	wrong := sink.check((*record.Timeline)(tl))
	for _, text := range wrong[:min(len(wrong), shown)] {
		t.Error(text)
	}
	if more := len(wrong) - shown; more > 0 {
		t.Errorf("and %d more", more)
	}
}

// notUTF8 is a name that may arrive in whatever form.
const notUTF8 = "\xff\x00"

// A sent is an entry that a goroutine recorded.
type sent struct {
	record.Entry
	goroutine, n int
}

// A key finds a sent.
type key struct {
	typ  observer.Type
	name string
}

// check records on tl, and returns what is wrong with what arrives.
func (s *Sink) check(tl *record.Timeline) (wrong []string) {
	complain := func(format string,
		args ...any) {
		wrong = append(wrong, fmt.Sprintf(format, args...))
	}
	want := s.record(tl, complain)
	// of each goroutine
	last := map[observer.Type]map[int]int{observer.Mark: {}, observer.Measure: {}}
	for _, r := range s.Received() {
		k := key{r.Type, r.Name}
		if _, ok := want[k]; !ok {
			k.name = notUTF8
		}
		e, ok := want[k]
		if !ok {
			complain("%s %q arrived though it was not recorded, or arrived twice", r.Type, r.Name)
			continue
		}
		delete(want, k)
		if before := last[r.Type][e.goroutine]; e.n < before {
			complain("%s %q is out of order: it arrived after number %d of its goroutine", r.Type,
				r.Name, before)
		}
		last[r.Type][e.goroutine] = e.n
		start, duration := e.Time(), e.Duration()
		if s.Unsigned && duration < 0 {
			start, duration = start.Add(duration), -duration
		}
		if r.Start.Sub(start).Abs() > s.Resolution || (r.Duration-duration).Abs() > s.Resolution {
			complain("%s %q arrived as one at %v for %v, want %v for %v", r.Type, r.Name, r.Start,
				r.Duration, start, duration)
		}
		got := flatten(map[string]slog.Value{}, "", r.Attrs)
		for name, v := range flatten(map[string]slog.Value{}, "", slices.Collect(e.Attrs())) {
			if g, ok := got[name]; !ok || isPlain(v) && g.String() != v.String() {
				complain("%s %q has the attribute %s %v (there: %v), want %v", r.Type, r.Name, name,
					g, ok, v)
			}
		}
	}
	for k := range want {
		complain("%s %q did not arrive", k.typ, k.name)
	}
	return wrong
}

// record records on tl and on requests of it, on several goroutines, and returns the entries.
func (s *Sink) record(tl *record.Timeline, complain func(string, ...any)) map[key]sent {
	const goroutines, each = 8, 100
	ctx := s.Context
	if ctx == nil {
		ctx = context.Background()
	}
	var mu sync.Mutex // guards all
	all := map[key]sent{}
	send := func(on *record.Timeline, typ observer.Type, name string, d time.Duration, goroutine,
		n int) {
		e, err := on.NewEntry(record.Type(typ), name, on.Now(), d,
			slog.String("string", "s"), slog.Int("int", -7), slog.Uint64("uint", 7),
			slog.Float64("float", 1.5), slog.Bool("bool", true),
			slog.Group("group", slog.Int("a", n), slog.Group("inner", slog.String("b", "2"))),
			slog.Duration("duration", time.Second), slog.Time("time", time.Unix(1, 0)),
			slog.Any("list", []string{"x"}))
		taken := err == nil && on.Queue(record.NewContext(ctx, on), e)
		mu.Lock()
		defer mu.Unlock()
		if !taken {
			complain("the timeline did not take %s %q: %v", typ, name, err)
		}
		all[key{typ, name}] = sent{e, goroutine, n}
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Add(1)
		go func() {
			defer wg.Done()
			on := tl
			for range g % 3 { // the process's timeline, a request's, and a part of that
				on = on.NewChild()
			}
			for n := range each {
				if n == each/2 {
					on.Close()
				}
				name := fmt.Sprintf("%d %03d", g, n)
				send(on, observer.Mark, name, 0, g, n)
				send(on, observer.Measure, name, time.Duration(n)*time.Millisecond, g, n)
			}
		}()
	}
	wg.Wait()
	send(tl, observer.Mark, "", 0, goroutines, 0)
	send(tl, observer.Mark, notUTF8, 0, goroutines, 1)
	send(tl, observer.Measure, "backwards", -time.Millisecond, goroutines, 2)
	return all
}

// flatten adds attributes to a map, with the keys of groups joined with dots.
func flatten(to map[string]slog.Value, prefix string, attrs []slog.Attr) map[string]slog.Value {
	for _, a := range attrs {
		if a.Value.Kind() == slog.KindGroup {
			flatten(to, prefix+a.Key+".", a.Value.Group())
		} else {
			to[prefix+a.Key] = a.Value
		}
	}
	return to
}

// isPlain reports whether each sink has the same text for v.
func isPlain(v slog.Value) bool {
	switch v.Kind() {
	case slog.KindBool, slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindString:
		return true
	default:
		return false
	}
}
