package marks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A performance is the web's Performance object on top of the public API: times
// in milliseconds, and errors by the specifications' names. It shows that tests of
// the web's semantics can run here.
type performance struct {
	ctx   context.Context
	tl    *observer.Timeline
	tasks *tasks
}

// tasks are the tasks that wait. The test runs them.
type tasks []func()

func (q *tasks) schedule(task func()) { *q = append(*q, task) }

// run runs the tasks that wait, and the tasks that they cause.
func (q *tasks) run() {
	for len(*q) > 0 {
		task := (*q)[0]
		*q = (*q)[1:]
		task()
	}
}

// bufferSize is the number of entries of each type that a buffer keeps.
const bufferSize = 100

// globals are a Worker and a Window.
func globals() map[string]*performance {
	tasks := &tasks{}
	process := observer.NewTimeline(observer.TimelineOptions{Scheduler: tasks.schedule, BufferSize: bufferSize, ChildBufferSize: bufferSize})
	request := process.NewChild()
	return map[string]*performance{
		"Worker": {observer.NewContext(context.Background(), process), process, tasks},
		"Window": {observer.NewContext(context.Background(), request), request, tasks},
	}
}

func (p *performance) now() float64        { return record.Milliseconds(p.tl.Now()) }
func (p *performance) timeOrigin() float64 { return float64(p.tl.Origin().UnixNano()) / 1e6 }

// thrown is the name of the exception that an error stands for.
func thrown(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, marks.ErrNoMark), errors.Is(err, marks.ErrReserved):
		return "SyntaxError"
	case errors.Is(err, marks.ErrNoTiming):
		return "InvalidAccessError"
	case errors.Is(err, observer.ErrModification):
		return "InvalidModificationError"
	case errors.Is(err, marks.ErrNegative), errors.Is(err, marks.ErrOptions), errors.Is(err, marks.ErrNoRequest), errors.Is(err, errNotFinite):
		return "TypeError"
	}
	return "no exception of the specifications: " + err.Error()
}

// errNotFinite is what Web IDL says of a double, before the API is called.
var errNotFinite = errors.New("not a finite number")

func fromMilliseconds(ms float64) (time.Duration, error) {
	if math.IsNaN(ms) || math.IsInf(ms, 0) {
		return 0, fmt.Errorf("%w: %v", errNotFinite, ms)
	}
	return time.Duration(math.Round(ms * float64(time.Millisecond))), nil
}

// time returns a startTime, or now without one.
func (p *performance) time(startTime any) (time.Duration, error) {
	if startTime == nil {
		return p.tl.Now(), nil
	}
	return fromMilliseconds(startTime.(float64))
}

func (p *performance) mark(name string, startTime any, detail ...slog.Attr) (observer.Entry, error) {
	at, err := p.time(startTime)
	if err != nil {
		return observer.Entry{}, err
	}
	return marks.MarkAt(p.ctx, name, at, detail...)
}

// point is a mark's name, a number, or nothing.
func point(v any) (marks.Point, error) {
	switch v := v.(type) {
	case string:
		return marks.Named(v), nil
	case nil:
		return marks.Point{}, nil
	default:
		d, err := fromMilliseconds(v.(float64))
		return marks.At(d), err
	}
}

func (p *performance) measure(name string, start, end, duration any, detail ...slog.Attr) (observer.Entry, error) {
	var o marks.MeasureOptions
	var errs [3]error
	o.Start, errs[0] = point(start)
	o.End, errs[1] = point(end)
	if duration != nil {
		var d time.Duration
		d, errs[2] = fromMilliseconds(duration.(float64))
		o.Duration = &d
	}
	if err := errors.Join(errs[:]...); err != nil {
		return observer.Entry{}, err
	}
	o.Detail = detail
	return marks.Measure(p.ctx, name, o)
}

// Every operation that an adapter for foreign tests needs, on a Worker and on a
// Window.
func TestAsThePerformanceObject(t *testing.T) {
	for name, p := range globals() {
		t.Run(name, func(t *testing.T) {
			t.Run("UT-27 now and timeOrigin", func(t *testing.T) {
				wall := func() float64 { return float64(time.Now().UnixNano()) / 1e6 }
				before, a := wall(), p.now()
				b, after := p.now(), wall()
				const slack = 1 // ms by which the wall clock may be slewed meanwhile
				if a <= 0 || b < a || p.timeOrigin()+a < before-slack || p.timeOrigin()+b > after+slack {
					t.Errorf("now() is %v, then %v after %v; the wall clock says %v, then %v", a, b, p.timeOrigin(), before, after)
				}
			})
			t.Run("UT-2 UT-19 marks, measures and what clears them", func(t *testing.T) { p.userTiming(t) })
			t.Run("UT-5 UT-11 UT-12 UT-22 exceptions", func(t *testing.T) { p.exceptions(t) })
			t.Run("PT-26 PT-27 PT-29 PT-31 observers", func(t *testing.T) { p.observers(t) })
		})
	}
}

func (p *performance) userTiming(t *testing.T) {
	if _, err := newMark(p.ctx, "only made", p.tl.Now()); err != nil {
		t.Error(err)
	}
	for _, at := range []float64{3.5, 1.25} {
		if _, err := p.mark("a", at, slog.Float64("at", at)); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.mark("b", 4.0); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		name                 string
		start, end, duration any
		wantStart, wantEnd   float64
	}{
		{"between names, the last a", "a", "b", nil, 1.25, 4},
		{"backwards", "b", "a", nil, 4, 1.25},
		{"numbers", 2.0, 7.0, nil, 2, 7},
		{"from a name for some time", "a", nil, 1.0, 1.25, 2.25},
		{"until a name for some time", nil, "b", 1.0, 3, 4},
		{"until a name", nil, "b", nil, 0, 4},
	} {
		m, err := p.measure(c.name, c.start, c.end, c.duration)
		start, length := record.Milliseconds(m.StartTime()), record.Milliseconds(m.Duration())
		if err != nil || start != c.wantStart || length != c.wantEnd-c.wantStart {
			t.Errorf("%s: from %v for %v, %v, want from %v until %v", c.name, start, length, err, c.wantStart, c.wantEnd)
		}
	}
	if got := len(p.tl.EntriesByType(observer.Measure)); got != 6 {
		t.Errorf("%d measures, want 6", got)
	}
	if got := names(p.tl.EntriesByType(observer.Mark)); !slices.Equal(got, []string{"a", "a", "b"}) {
		t.Errorf("marks %q, want those that were queued, by time", got)
	}
	marks.ClearMarks(p.ctx, "a")
	if _, err := p.measure("m", "a", nil, nil); thrown(err) != "SyntaxError" {
		t.Errorf("from a cleared mark: %v, want a SyntaxError", err)
	}
	marks.ClearMarks(p.ctx)
	marks.ClearMeasures(p.ctx)
	if got := p.tl.Entries(); len(got) != 0 {
		t.Errorf("left: %q", names(got))
	}
}

func (p *performance) exceptions(t *testing.T) {
	window := (*record.Timeline)(p.tl).Parent() != nil
	on := func(inWindow, inWorker string) string {
		if window {
			return inWindow
		}
		return inWorker
	}
	try := func(_ observer.Entry, err error) error { return err }
	for _, c := range []struct {
		what string
		err  error
		want string
	}{
		{"mark at -1", try(p.mark("m", -1.0)), "TypeError"},
		{"mark at NaN", try(p.mark("m", math.NaN())), "TypeError"},
		{"mark at infinity", try(p.mark("m", math.Inf(1))), "TypeError"},
		{"mark navigationStart", try(p.mark("navigationStart", nil)), on("SyntaxError", "")},
		{"detail alone", try(p.measure("m", nil, nil, nil, slog.Int("n", 1))), "TypeError"},
		{"duration alone", try(p.measure("m", nil, nil, 1.0)), "TypeError"},
		{"start, end and duration", try(p.measure("m", 1.0, 2.0, 1.0)), "TypeError"},
		{"negative start", try(p.measure("m", -1.0, nil, nil)), "TypeError"},
		{"negative end", try(p.measure("m", nil, -1.0, nil)), "TypeError"},
		{"negative duration", try(p.measure("m", 1.0, nil, -1.0)), "TypeError"},
		{"unknown name", try(p.measure("m", "nobody", nil, nil)), "SyntaxError"},
		{"a number as a name", try(p.measure("m", "51.15", nil, nil)), "SyntaxError"},
		{"from navigationStart", try(p.measure("m", "navigationStart", nil, nil)), on("", "TypeError")},
		{"until loadEventEnd", try(p.measure("m", nil, "loadEventEnd", nil)), on("InvalidAccessError", "TypeError")},
	} {
		if got := thrown(c.err); got != c.want {
			t.Errorf("%s: %q (%v), want %q", c.what, got, c.err, c.want)
		}
	}
	(*record.Timeline)(p.tl).Clear(record.Mark)
	(*record.Timeline)(p.tl).Clear(record.Measure)
}

func (p *performance) observers(t *testing.T) {
	var calls []string
	callback := func(l observer.List) {
		call := strings.Join(names(l.Entries()), " ")
		if n, ok := l.Dropped(); ok {
			call += fmt.Sprintf(" (%d dropped)", n)
		}
		calls = append(calls, call)
	}
	queue := func(typ record.Type, name string) {
		e, err := (*record.Timeline)(p.tl).NewEntry(typ, name, p.tl.Now(), 0)
		if err != nil || !(*record.Timeline)(p.tl).Queue(p.ctx, e) {
			t.Errorf("%s %q was not queued: %v", typ, name, err)
		}
	}
	queue(record.Resource, "r1")
	for range bufferSize {
		queue(record.Resource, "r2")
	}
	full := strings.Repeat(" r2", bufferSize-1)
	obs, err := p.tl.Observe(callback, observer.Options{Type: observer.Resource, Buffered: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := obs.Observe(observer.Options{Type: observer.Mark}); err != nil {
		t.Fatal(err)
	}
	if err := obs.Observe(observer.Options{Types: []observer.Type{observer.Mark}}); thrown(err) != "InvalidModificationError" {
		t.Errorf("mixed styles: %v, want an InvalidModificationError", err)
	}
	if _, err := p.mark("m", nil); err != nil {
		t.Error(err)
	}
	if len(calls) != 0 {
		t.Errorf("called at once: %q", calls)
	}
	p.tasks.run()
	queue(record.Server, "not observed")
	queue(record.Resource, "r3")
	p.tasks.run()
	if want := []string{"r1" + full + " m (1 dropped)", "r3"}; !slices.Equal(calls, want) {
		t.Errorf("called with %q, want %q", calls, want)
	}
	queue(record.Resource, "r4")
	if got := names(obs.TakeRecords()); !slices.Equal(got, []string{"r4"}) {
		t.Errorf("took %q, want r4", got)
	}
	queue(record.Resource, "r5")
	obs.Disconnect()
	p.tasks.run()
	if len(calls) != 2 || len(obs.TakeRecords()) != 0 {
		t.Errorf("after Disconnect: called with %q", calls)
	}
	(*record.Timeline)(p.tl).Clear(record.Resource)
	queue(record.Resource, "r6")
	if got := names(p.tl.EntriesByType(observer.Resource)); !slices.Equal(got, []string{"r6"}) {
		t.Errorf("the buffer has %q, want r6: clearing made room", got)
	}
}
