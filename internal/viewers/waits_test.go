package viewers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/viewers"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/waits"
)

// aTracedSession is aSession, recorded from 30 ms before the request began.
func aTracedSession() *handMade {
	s := aSession()
	s.timelines[0].Interval.Start = -50 * ms
	return s
}

// aResult is what an execution trace has of the request in aSession.
func aResult() *waits.Request {
	traceID, root := trace.TraceID{15: 0xab}, trace.SpanID{7: 0xcd}
	stack := []waits.Frame{{Function: "sync.(*Mutex).Lock", File: "/go/sync/mutex.go", Line: 46}, {Function: "main.render", File: "/src/shop/main.go", Line: 72}}
	by := &waits.Party{Goroutine: 9, Function: "shop/store.(*Index).rebuild", Request: "POST /index", TraceID: trace.TraceID{1}, RootID: trace.SpanID{1}}
	did := func(kind waits.Kind, start, end time.Duration, stack []waits.Frame, by *waits.Party) waits.Interval {
		return waits.Interval{Kind: kind, Start: start, End: end, SpanID: root, Stack: stack, By: by}
	}
	return &waits.Request{
		TraceID: traceID, RootID: root, Name: "GET /products/{id}", Duration: 70 * ms,
		Goroutines: []waits.Goroutine{
			{ID: 7, Function: "net/http.(*conn).serve", Intervals: []waits.Interval{
				did(waits.Gap, 0, 20*ms, nil, nil), did(waits.OnCPU, 20*ms, 35*ms, nil, nil), did(waits.Mutex, 35*ms, 60*ms, stack, by),
				did(waits.Runnable, 60*ms, 65*ms, stack[1:], &waits.Party{Goroutine: 3}), did(waits.OnCPU, 65*ms, 70*ms, nil, nil),
			}},
			{ID: 8, Function: "main.prefetch", Intervals: []waits.Interval{did(waits.Network, 22*ms, 50*ms, nil, nil)}},
		},
		Causes: []waits.Cause{{Kind: waits.Mutex, Duration: 25 * ms, Function: "main.render", By: by}},
	}
}

// A request with an execution trace has a thread for each goroutine, and a marker with the sentence. Samples that contradict the states are left
// out. This is the second of the request's samples: code runs in it, 20 ms after the session's start, while the goroutine waits.
func TestFirefoxWithStates(t *testing.T) {
	var b bytes.Buffer
	if err := viewers.WriteRecordedFirefox(&b, aTracedSession(), nil, aResult()); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "waits.firefox.json", b.Bytes())

	// Results of other requests change nothing.
	other := aResult()
	other.RootID[0]++
	var without, with bytes.Buffer
	if err := errors.Join(viewers.WriteRecordedFirefox(&without, aSession()), viewers.WriteRecordedFirefox(&with, aSession(), other)); err != nil {
		t.Fatal(err)
	}
	threads := func(b bytes.Buffer) string { s, _, _ := strings.Cut(b.String(), `"meta"`); return s }
	if threads(without) != threads(with) {
		t.Error("the result of another request changes the session's file")
	}
}

// Whatever the states are, the file is valid: indices are known, threads differ, no time is negative, and intervals are as they were.
func TestFirefoxWithAnyStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := aResult()
		r.Goroutines = nil
		for range rapid.IntRange(0, 3).Draw(t, "goroutines") {
			g := waits.Goroutine{ID: rapid.Uint64().Draw(t, "goroutine"), Function: anyText.Draw(t, "function")}
			at := time.Duration(0)
			for range rapid.IntRange(0, 5).Draw(t, "intervals") {
				end := at + time.Duration(rapid.IntRange(0, 1e8).Draw(t, "length"))
				i := waits.Interval{Kind: waits.Kind(rapid.IntRange(0, int(waiting.Kinds)-1).Draw(t, "kind")), Start: at, End: end}
				for range rapid.IntRange(0, 3).Draw(t, "frames") {
					i.Stack = append(i.Stack, waits.Frame{Function: anyText.Draw(t, "frame"), File: anyText.Draw(t, "file"), Line: rapid.IntRange(0, 1000).Draw(t, "line")})
				}
				if rapid.Bool().Draw(t, "party") {
					i.By = &waits.Party{Function: anyText.Draw(t, "by"), Request: anyText.Draw(t, "request"), RootID: trace.SpanID{byte(rapid.IntRange(0, 1).Draw(t, "root"))}}
				}
				g.Intervals = append(g.Intervals, i)
				at = end
			}
			r.Goroutines = append(r.Goroutines, g)
		}
		s := aTracedSession()
		zero := s.timelines[0].Interval.Start
		begins := s.timelines[2].Interval.Start - zero // of the request, in the file
		var b bytes.Buffer
		if err := viewers.WriteRecordedFirefox(&b, s, r); err != nil {
			t.Fatal(err)
		}
		var f firefoxFile
		if err := json.Unmarshal(b.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		if len(f.Threads) != len(s.timelines)+len(r.Goroutines) {
			t.Fatalf("%d threads, want %d and %d", len(f.Threads), len(s.timelines), len(r.Goroutines))
		}
		tids := map[int]bool{}
		for n, th := range f.Threads {
			if tids[th.TID] {
				t.Fatalf("two threads are %d", th.TID)
			}
			tids[th.TID] = true
			if n < len(s.timelines) {
				continue
			}
			g := r.Goroutines[n-len(s.timelines)]
			for k, i := range g.Intervals {
				start, _ := th.Markers.StartTime[k].Float64()
				data := th.Markers.Data[k]
				if want := record.Milliseconds(begins + i.Start); math.Abs(start-want) > 1e-6 || f.Shared.StringArray[th.Markers.Name[k]] != i.Kind.String() || data["type"] != "State" {
					t.Errorf("marker %d of %s is at %v with %v, want %v and %+v", k, th.Name, start, data, want, i)
				}
				if cause, ok := data["cause"].(map[string]any); ok != (len(i.Stack) > 0) || ok && cause["stack"].(float64) >= float64(f.Shared.StackTable.Length) {
					t.Errorf("the stack of %+v is %v of %d", i, cause, f.Shared.StackTable.Length)
				} else if ok && math.Abs(cause["time"].(float64)-start) > 1e-6 {
					t.Errorf("the stack of %+v is of %v, want the marker's start, %v", i, cause["time"], start)
				}
				if ended, had := data["by"], data["had"]; (ended != nil) != (i.By != nil && i.Kind != waits.Runnable) || (had != nil) != (i.By != nil && i.Kind == waits.Runnable) {
					t.Errorf("the party of %+v is %v, %v", i, ended, had)
				}
			}
		}
	})
}

// A session without samples has no trace of them. Its file shows the waits.
func TestFirefoxWithStatesOnly(t *testing.T) {
	s := aTracedSession()
	s.trace, s.samples = nil, nil
	var b bytes.Buffer
	if err := viewers.WriteRecordedFirefox(&b, s, aResult()); err != nil {
		t.Fatal(err)
	}
	var f firefoxFile
	if err := json.Unmarshal(b.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	if got, want := len(f.Threads), len(s.timelines)+2; got != want {
		t.Fatalf("%d threads, want %d: two of goroutines", got, want)
	}
	for _, th := range f.Threads {
		if th.Samples.Length != 0 {
			t.Errorf("%s has %d samples", th.Name, th.Samples.Length)
		}
	}
	if got := f.Threads[len(s.timelines)].Markers.Length; got != 5 {
		t.Errorf("the first goroutine has %d states, want 5", got)
	}
}

// No sample of a request is shown at a time when none of its goroutines ran.
func TestFirefoxSamplesAgreeWithStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := aTracedSession(), aResult()
		var taken []profile.Sample
		for range rapid.IntRange(0, 30).Draw(t, "samples") {
			taken = append(taken, profile.Sample{Timestamp: time.Second + time.Duration(rapid.IntRange(-20, 50).Draw(t, "at"))*ms, StackID: 0, ContextID: profile.None, Count: 1, Weight: ms})
		}
		slices.SortFunc(taken, func(a, b profile.Sample) int { return int(a.Timestamp - b.Timestamp) })
		s.samples[3] = taken
		var b bytes.Buffer
		if err := viewers.WriteRecordedFirefox(&b, s, r); err != nil {
			t.Fatal(err)
		}
		var f firefoxFile
		if err := json.Unmarshal(b.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		shown := map[string]int{}
		for _, at := range f.Threads[2].Samples.Time {
			shown[at.String()]++
		}
		for _, sample := range taken {
			at := sample.Timestamp - time.Second + 20*ms // since the request's start
			want := at <= 36*ms || at >= 64*ms           // not while it waits for the mutex or is runnable, a millisecond apart
			if key := fmt.Sprint((at + 30*ms).Milliseconds()); (shown[key] > 0) != want {
				t.Errorf("the sample at %v is shown: %t, want %t", at, !want, want)
			}
		}
	})
}
