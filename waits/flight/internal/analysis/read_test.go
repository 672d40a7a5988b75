package analysis_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// A note may be late by as long as the kernel pauses a thread: the request has the time of its
// span. A larger difference is none of a pause, and the request has the time of the trace.
func TestLongestPause(t *testing.T) {
	for _, release := range releases(t) {
		r := load(t, release, "long")
		root := r.roots[0].wanted()
		root.Duration = 0
		plain := r.read(t, root)[0]
		const pause = time.Second
		for _, c := range []struct {
			name    string
			off     time.Duration // of the span's duration from the trace's
			spanned bool          // the span's duration counts
		}{
			{"no duration", -plain.Duration, false},
			{"the trace's", 0, true},
			{"the end's note is late by a throttled period", -100 * time.Millisecond, true},
			{"the end's note is late by the longest pause", -pause, true},
			{"the end's note is later", -pause - 1, false},
			{"the start's note is late by a throttled period", 100 * time.Millisecond, true},
			{"the start's note is late by the longest pause", pause, true},
			{"the start's note is later", pause + 1, false},
			{"times of the program's choice", time.Hour, false},
		} {
			t.Run(release+"/"+c.name, func(t *testing.T) {
				root.Duration = plain.Duration + c.off
				got := r.read(t, root)[0]
				want, start := plain.Duration, plain.Start
				if c.spanned {
					want = root.Duration
					start = start.Add(-max(c.off, 0))
				}
				if got.Duration != want || !got.Start.Equal(start) {
					t.Errorf("the request takes %v from %v, want %v from %v",
						got.Duration, got.Start, want, start)
				}
			})
		}
	}
}

// Requests come in the order in which they are wanted. A root that is not in the trace is left out.
func TestOrderOfRoots(t *testing.T) {
	r := load(t, releases(t)[0], "several")
	first, second, third := r.roots[0].wanted(), r.roots[1].wanted(), r.roots[2].wanted()
	unknown := analysis.Root{TraceID: traceID, SpanID: id(1000)}
	got, _, err := analysis.Read(bytes.NewReader(r.data), []analysis.Root{third, unknown, first, second}, own, nil)
	if err != nil || len(got) != 3 || got[0].Name != "GET /3" || got[1].Name != "GET /1" || got[2].Name != "GET /2" {
		t.Fatalf("Read returns %s, %v", goldenText(got), err)
	}
	start := got[1].Start // of the first request
	got, began, err := analysis.Read(bytes.NewReader(r.data), []analysis.Root{unknown}, own, nil)
	if err != nil || len(got) != 0 {
		t.Errorf("Read returns %d requests and %v, want none", len(got), err)
	}
	if took := start.Sub(began); took <= 0 || took > time.Second {
		t.Errorf("the trace began %v before the first request, want less than 1 s", took)
	}
}

// times returns the times of a request as text, without the names.
func times(r *waits.Request) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Start, r.Duration, r.Unended)
	for _, c := range r.Causes {
		fmt.Fprintln(&b, c.Duration, c.Kind)
	}
	for _, g := range r.Goroutines {
		for _, i := range g.Intervals {
			fmt.Fprintln(&b, g.ID, i.Start, i.End, i.Kind, i.SpanID)
		}
	}
	return b.String()
}

// A request has the same times beside others and alone. Alone, fewer functions are known.
func TestResultsAreIndependent(t *testing.T) {
	for _, release := range releases(t) {
		for _, f := range fixtures {
			r := load(t, release, f.name)
			all := r.results(t)
			for i, root := range r.wanted() {
				same(t, times(&r.read(t, root)[0]), times(&all[i]))
			}
		}
	}
}

// Read calls pause often enough for a caller that sleeps there.
func TestReadPauses(t *testing.T) {
	for _, f := range fixtures {
		r := load(t, releases(t)[0], f.name)
		count := 0
		events(t, r.data, func(*xtrace.Event) { count++ })
		pauses := 0
		if _, _, err := analysis.Read(bytes.NewReader(r.data), r.wanted(), own, func() { pauses++ }); err != nil {
			t.Fatal(err)
		}
		// The trace is read twice, by bytes and by events.
		if want := 1 + 2*len(r.data)>>16 + 2*(count/1000); pauses < want {
			t.Errorf("%s: %d pauses for %d bytes and %d events, want %d at least",
				f.name, pauses, len(r.data), count, want)
		}
	}
}

// A trace that is cut gives an error, and the requests that are complete.
func TestTruncated(t *testing.T) {
	r := load(t, releases(t)[0], "several")
	whole := r.results(t)
	for _, n := range []int{0, 3, 16, 100, len(r.data) / 4, len(r.data) / 2, len(r.data) - 1} {
		results, _, err := analysis.Read(bytes.NewReader(r.data[:n]), r.wanted(), own, nil)
		if err == nil {
			t.Errorf("no error for %d bytes of %d", n, len(r.data))
		}
		for i := range results {
			check(t, &results[i])
			if !results[i].Unended && results[i].Duration != whole[i].Duration {
				t.Errorf("%d bytes: the request has %v, want %v",
					n, results[i].Duration, whole[i].Duration)
			}
		}
	}
}

// A trace that is cut in a later generation has the requests that ended before.
func TestCutInLaterGeneration(t *testing.T) {
	for _, release := range releases(t) {
		r := load(t, release, "generations")
		whole, first := r.results(t), 0
		for cut := range 50 {
			results, _, _ := analysis.Read(bytes.NewReader(r.data[:cut*len(r.data)/50]), r.wanted(), own, nil)
			if len(results) > 0 && !results[0].Unended && (len(results) == 1 || results[1].Unended) {
				first++
				same(t, times(&results[0]), times(&whole[0]))
			}
		}
		if first == 0 {
			t.Errorf("%s: no cut leaves the first request whole without the second one", release)
		}
	}
}

// Whatever the trace, its length, and the durations of spans, what Read returns adds up.
func TestAnyInput(t *testing.T) {
	release := releases(t)[0]
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.SampledFrom(fixtures).Draw(rt, "fixture")
		r := load(t, release, f.name)
		data := r.data
		if rapid.Bool().Draw(rt, "cut") {
			data = data[:rapid.IntRange(0, len(data)).Draw(rt, "length")]
		}
		var wanted []analysis.Root
		for _, root := range rapid.Permutation(r.wanted()).Draw(rt, "order") {
			if rapid.Bool().Draw(rt, "another duration") {
				root.Duration = time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(rt, "duration"))
			}
			wanted = append(wanted, root)
		}
		results, _, err := analysis.Read(bytes.NewReader(data), wanted, own, nil)
		if err == nil && len(data) == len(r.data) && len(results) != len(wanted) {
			rt.Errorf("%s: Read returns %d requests of %d", f.name, len(results), len(wanted))
		}
		for i := range results {
			check(rt, &results[i])
		}
	})
}

// FuzzRead begins with recorded traces. Read returns an error for traces that are cut or malformed,
// and what it returns adds up.
func FuzzRead(f *testing.F) {
	var wanted []analysis.Root
	for n := range uint64(30) {
		wanted = append(wanted, analysis.Root{TraceID: traceID, SpanID: id(1 + n)})
	}
	for _, release := range releases(f) {
		for _, x := range fixtures {
			r := load(f, release, x.name)
			f.Add(r.data)
			f.Add(r.data[:len(r.data)/2])
			f.Add(r.data[:len(r.data)-1])
		}
	}
	f.Add([]byte("go 1.11 trace\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		results, _, err := analysis.Read(bytes.NewReader(data), wanted, own, nil)
		if err != nil && err.Error() == "" {
			t.Error("the error has no text")
		}
		for i := range results {
			check(t, &results[i])
		}
	})
}

// A recorded request begins when its span did, by the machine's clock.
func TestStart(t *testing.T) {
	for _, release := range releases(t) {
		for _, f := range fixtures {
			r := load(t, release, f.name)
			for i, got := range r.results(t) {
				if off := got.Start.Sub(r.roots[i].began); off.Abs() > waiting.SampleSkew {
					t.Errorf("%s/%s: %s begins %v after its span", release, f.name, got.Name, off)
				}
				if got.Name != r.roots[i].name {
					t.Errorf("%s/%s: the name is %q, want %q",
						release, f.name, got.Name, r.roots[i].name)
				}
			}
		}
	}
}
