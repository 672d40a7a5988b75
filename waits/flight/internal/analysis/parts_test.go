package analysis

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

func TestWindows(t *testing.T) {
	windows := union([]window{{50, 60}, {10, 20}, {15, 30}, {30, 31}, {12, 13}})
	if want := []window{{10, 31}, {50, 60}}; !slices.Equal(windows, want) {
		t.Fatalf("union is %v, want %v", windows, want)
	}
	for _, c := range []struct {
		from, to int
		want     bool
	}{{0, 9, false}, {0, 10, true}, {31, 40, true}, {32, 49, false}, {20, 21, true}, {0, 100, true}, {60, 61, true}, {61, 62, false}} {
		if got := overlap(windows, xtrace.Time(c.from), xtrace.Time(c.to)); got != c.want {
			t.Errorf("overlap of [%d, %d] is %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// Coarse intervals have the same times for each kind and span, in order, without overlaps.
func TestCoarsen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fine []waits.Interval
		at := time.Duration(0)
		for range rapid.IntRange(0, 50).Draw(t, "intervals") {
			at += time.Duration(rapid.IntRange(0, 1).Draw(t, "hole"))
			i := waits.Interval{
				Kind: waits.Kind(rapid.IntRange(0, 3).Draw(t, "kind")), Start: at,
				SpanID: trace.SpanID{byte(rapid.IntRange(1, 2).Draw(t, "span"))},
			}
			at += time.Duration(rapid.IntRange(1, 20).Draw(t, "length"))
			i.End = at
			fine = append(fine, i)
		}
		grain := time.Duration(rapid.IntRange(1, 200).Draw(t, "grain"))
		want := (&waits.Request{Goroutines: []waits.Goroutine{{Intervals: slices.Clone(fine)}}})
		coarse := coarsen(fine, grain)
		got := (&waits.Request{Goroutines: []waits.Goroutine{{Intervals: coarse}}})
		for _, span := range []trace.SpanID{{1}, {2}} {
			if waiting.Times(got, span) != waiting.Times(want, span) {
				t.Errorf("times are %v, want %v", waiting.Times(got, span), waiting.Times(want, span))
			}
		}
		at = 0
		for _, i := range coarse {
			if i.Start < at || i.End <= i.Start {
				t.Errorf("interval [%v, %v) comes after %v", i.Start, i.End, at)
			}
			at = i.End
		}
	})
}

// A group becomes one interval for each kind.
func TestCoarsenGroup(t *testing.T) {
	at := func(kind waits.Kind, start, end time.Duration) waits.Interval {
		return waits.Interval{Kind: kind, Start: start, End: end}
	}
	got := coarsen([]waits.Interval{
		at(waits.OnCPU, 0, 1), at(waits.Select, 1, 4), at(waits.OnCPU, 4, 6), at(waits.Select, 6, 10), at(waits.Select, 10, 30),
	}, 10)
	want := []waits.Interval{at(waits.OnCPU, 0, 3), at(waits.Select, 3, 10), at(waits.Select, 10, 30)}
	if !slices.EqualFunc(got, want, func(a, b waits.Interval) bool { return a.Kind == b.Kind && a.Start == b.Start && a.End == b.End }) {
		t.Errorf("intervals are %v, want %v", got, want)
	}
}

// A goroutine that was not seen had the calls that it has before and after. The calls that write a
// note say nothing by themselves.
func TestCallsWhileRunning(t *testing.T) {
	frames := func(functions ...string) (all []waits.Frame) {
		for _, f := range functions {
			all = append(all, waits.Frame{Function: f})
		}
		return all
	}
	s := newStacks(func(string) bool { return false })
	for _, f := range [][]waits.Frame{frames("note", "start", "handle", "main"), frames("lock", "work", "handle", "main"), frames("write", "other", "main")} {
		s.list = append(s.list, stack{known: true, frames: f})
	}
	const note, lock, write = stackID(1), stackID(2), stackID(3)
	for name, c := range map[string]struct {
		past []record
		i    int
		want string
	}{
		"seen":                   {[]record{{end: 1, activity: executing, stack: lock}}, 0, "lock"},
		"waits":                  {[]record{{end: 1, activity: waitingSync, stack: lock}}, 0, "lock"},
		"between waits":          {[]record{{end: 1, activity: waitingSync, stack: lock}, {start: 1, end: 2}, {start: 2, end: 3, activity: inSyscall, stack: write}}, 1, "main"},
		"after a note":           {[]record{{end: 1, activity: executingNote, stack: note}, {start: 1, end: 2, activity: waitingSync, stack: lock}}, 0, "handle"},
		"before a note":          {[]record{{end: 1, activity: waitingSync, stack: lock}, {start: 1, end: 2}, {start: 2, end: 3, activity: executingNote, stack: note}}, 1, "handle"},
		"after a note only":      {[]record{{end: 1, activity: executingNote, stack: note}}, 0, ""},
		"before a note only":     {[]record{{end: 1}, {start: 1, end: 2, activity: executingNote, stack: note}}, 0, ""},
		"before a wait only":     {[]record{{end: 1}, {start: 1, end: 2, activity: waitingSync, stack: lock}}, 0, "lock"},
		"not next to each other": {[]record{{end: 1}, {start: 2, end: 3, activity: waitingSync, stack: lock}}, 0, ""},
	} {
		b := &builder{analyzer: &analyzer{stacks: s}}
		got := ""
		if frames := b.runCalls(&goroutine{records: c.past}, c.i); len(frames) > 0 {
			got = frames[0].Function
		}
		if got != c.want {
			t.Errorf("%s: innermost function is %q, want %q", name, got, c.want)
		}
	}
}

func TestChunks(t *testing.T) {
	var c chunks[int]
	for i := range 2*chunkLength + 1 {
		if c.length() != i {
			t.Fatalf("length is %d, want %d", c.length(), i)
		}
		c.add(i)
	}
	for _, i := range []int{0, chunkLength - 1, chunkLength, 2 * chunkLength} {
		if *c.at(i) != i {
			t.Errorf("element %d is %d", i, *c.at(i))
		}
	}
}

func TestHolderOfProcessors(t *testing.T) {
	user, helper, collector, self := &goroutine{id: 1}, &goroutine{id: 2, assists: true}, &goroutine{id: 3, collects: true}, &goroutine{id: 4}
	helper.records = []record{{start: 60, end: 80, activity: assisting}}
	p := newProcessors(nil, nil)
	p.runs[0] = &chunks[run]{[][]run{{{0, 40, user}, {40, 60, self}, {60, 100, helper}}}}
	p.runs[1] = &chunks[run]{[][]run{{{0, 100, collector}}}}
	for _, c := range []struct {
		from, to  int
		by        *goroutine
		collected float64
		free      bool
	}{
		{0, 40, user, 0.5, false},
		{0, 80, user, (80.0 + 20) / (80 + 40 + 20), false},
		{60, 80, helper, 1, false},
		{80, 100, helper, 0.5, false},
		{90, 150, helper, 0.5, true},
		{40, 60, nil, 1, false},
	} {
		h := p.holder(xtrace.Time(c.from), xtrace.Time(c.to), self)
		if h.by != c.by || h.collected != c.collected || h.free != c.free || h.worker != collector {
			t.Errorf("[%d, %d): by %v, %v collected, free %v, worker %v; want %v",
				c.from, c.to, h.by, h.collected, h.free, h.worker, c)
		}
	}
}

// A part of the time is missing only in periods in which clearly less CPU time than running time was noted. The kernel's
// counts say why: a limit comes first, then other programs, and for the rest nobody knows.
func TestStolen(t *testing.T) {
	const ms = time.Millisecond
	p := newProcessors(nil, nil)
	p.accounts = []account{
		{at: 0, busy: 0},
		{at: xtrace.Time(100 * ms), busy: 100 * ms, got: cputime.Usage{Process: 25 * ms}},
		{at: xtrace.Time(200 * ms), busy: 200 * ms, got: cputime.Usage{Process: 115 * ms, Delayed: 10 * ms}},
		{at: xtrace.Time(300 * ms), busy: 201 * ms, got: cputime.Usage{Process: 115 * ms, Delayed: 10 * ms}},
		{at: xtrace.Time(400 * ms), busy: 301 * ms, got: cputime.Usage{Process: 135 * ms, Delayed: 90 * ms}},
		{at: xtrace.Time(500 * ms), busy: 401 * ms, got: cputime.Usage{Process: 155 * ms, Delayed: 110 * ms, Throttled: 40 * ms, Limit: 0.5}},
		{at: xtrace.Time(600 * ms), busy: 501 * ms, got: cputime.Usage{Process: 175 * ms, Delayed: 5 * ms, Throttled: 400 * ms, Limit: 0.5}},
		{at: xtrace.Time(700 * ms), busy: 501 * ms, got: cputime.Usage{Process: 175 * ms, Delayed: 5 * ms, Throttled: 400 * ms}},
		{at: xtrace.Time(800 * ms), busy: 701 * ms, got: cputime.Usage{Process: 225 * ms, Delayed: 155 * ms, Throttled: 475 * ms, Limit: 0.5}},
		{at: xtrace.Time(900 * ms), busy: 901 * ms, got: cputime.Usage{Process: 245 * ms, Delayed: 335 * ms, Throttled: 485 * ms, Limit: 0.5}},
		{at: xtrace.Time(1000 * ms), busy: 1001 * ms, got: cputime.Usage{Process: 265 * ms, Delayed: 405 * ms, Throttled: 495 * ms}},
	}
	for _, c := range []struct {
		from, to time.Duration
		want     []lack
	}{
		{0, 100 * ms, []lack{{kind: waits.NotRun, time: 75 * ms}}},
		{20 * ms, 60 * ms, []lack{{kind: waits.NotRun, time: 30 * ms}}},
		{50 * ms, 150 * ms, []lack{{kind: waits.NotRun, time: 37500 * time.Microsecond}}},
		{100 * ms, 200 * ms, nil}, // almost all of it
		{200 * ms, 300 * ms, nil}, // too little to tell
		{300 * ms, 400 * ms, []lack{{kind: waits.OtherPrograms, time: 80 * ms}}},
		{400 * ms, 500 * ms, []lack{{waits.CPULimit, 0.5, 50 * ms}, {kind: waits.OtherPrograms, time: 20 * ms}, {kind: waits.NotRun, time: 10 * ms}}},
		{350 * ms, 450 * ms, []lack{{kind: waits.OtherPrograms, time: 50 * ms}, {waits.CPULimit, 0.5, 25 * ms}, {kind: waits.NotRun, time: 5 * ms}}},
		{500 * ms, 600 * ms, []lack{{waits.CPULimit, 0.5, 80 * ms}}},                                                     // threads have ended
		{700 * ms, 800 * ms, []lack{{waits.CPULimit, 0.5, 75 * ms}}},                                                     // two threads waited on one processor
		{800 * ms, 900 * ms, []lack{{waits.CPULimit, 0.5, 75 * ms}, {kind: waits.OtherPrograms, time: 15 * ms}}},         // and had less than the limit
		{900 * ms, 1000 * ms, []lack{{kind: waits.CPULimit, time: 10 * ms}, {kind: waits.OtherPrograms, time: 70 * ms}}}, // by which limit is not known
		{1000 * ms, 1100 * ms, nil}, // after the last note
	} {
		if got := p.lacks(xtrace.Time(c.from), xtrace.Time(c.to)); !slices.Equal(got, c.want) {
			t.Errorf("stolen in [%v, %v) is %v, want %v", c.from, c.to, got, c.want)
		}
	}
	for _, c := range []struct {
		from, to time.Duration
		want     lack
	}{
		{0, 10 * ms, lack{kind: waits.NotRun, time: 10 * ms}},
		{310 * ms, 390 * ms, lack{kind: waits.OtherPrograms, time: 80 * ms}},
		{410 * ms, 415 * ms, lack{waits.CPULimit, 0.5, 5 * ms}},
		{1000 * ms, 1010 * ms, lack{kind: waits.NotRun, time: 10 * ms}},
	} {
		if got := p.delay(xtrace.Time(c.from), xtrace.Time(c.to)); got != c.want {
			t.Errorf("in [%v, %v) the reason is %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// A panic in the decoder is an error.
func TestPanicOfDecoder(t *testing.T) {
	_, _, err := Read(panicking{}, []Root{{}}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "malformed execution trace: cause") {
		t.Errorf("Read returns %v, want the panic as an error", err)
	}
	_, _, err = Read(unseekable{}, []Root{{}}, nil, nil)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Read returns %v, want the error of Seek", err)
	}
}

// A panic of the caller passes, so that the caller can stop Read.
func TestPanicOfCaller(t *testing.T) {
	defer func() {
		if got := recover(); got != "stop" {
			t.Errorf("recovered %v, want the caller's panic", got)
		}
	}()
	_, _, err := Read(strings.NewReader("go 1.26 trace\x00\x00\x00"), []Root{{}}, nil, func() { panic("stop") })
	t.Errorf("Read returns %v, want a panic", err)
}

type panicking struct{}

func (panicking) Read([]byte) (int, error)       { panic("cause") }
func (panicking) Seek(int64, int) (int64, error) { return 0, nil }

type unseekable struct{ panicking }

func (unseekable) Seek(int64, int) (int64, error) { return 0, io.ErrClosedPipe }
