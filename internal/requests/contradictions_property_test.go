package requests_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/waits"
)

// A sample and the states never contradict each other, with any states, and with samples at any time. For each sample of running code
// that is shown, a goroutine of its span or of one below is on a processor, a millisecond away at most. The exception is where no state is known. Other samples are counted.
func TestSamplesNeverContradictStates(t *testing.T) {
	below := map[int][]int{1: {1, 2, 3, 4, 5, 6, 9}, 2: {2, 3, 5}, 3: {3}, 4: {4}, 6: {6}} // spans of waited; 9 was not kept
	rapid.Check(t, func(rt *rapid.T) {
		q := waited(t)
		q.Waits.Goroutines = nil
		spans := []int{1, 2, 3, 4, 5, 6, 9}
		of := map[[2]int]int{} // the span of an interval, by goroutine and index
		for g := range rapid.IntRange(1, 4).Draw(rt, "goroutines") {
			var intervals []waits.Interval
			at := time.Duration(0)
			for range rapid.IntRange(0, 20).Draw(rt, "intervals") {
				at += time.Duration(rapid.IntRange(0, 2).Draw(rt, "pause")) * ms
				end := at + time.Duration(rapid.IntRange(1, 20_000).Draw(rt, "length"))*time.Microsecond
				id := rapid.SampledFrom(spans).Draw(rt, "span")
				of[[2]int{g, len(intervals)}] = id
				intervals = append(intervals, did(waits.Kind(rapid.IntRange(0, int(waiting.Kinds)-1).Draw(rt, "kind")), at, end, id, "", nil))
				at = end
			}
			q.Waits.Goroutines = append(q.Waits.Goroutines, waits.Goroutine{ID: uint64(g), Intervals: intervals})
		}
		tr := &profile.Trace{Origin: base, Engine: profile.EngineCPU}
		contexts := []int{1, 2, 3, 4, 6}
		for _, id := range contexts {
			tr.Contexts = append(tr.Contexts, profile.SampleContext{TraceID: q.TraceID(), SpanID: spanID(id)})
		}
		for range rapid.IntRange(0, 50).Draw(rt, "samples") {
			tr.Samples = append(tr.Samples, profile.Sample{
				Timestamp: time.Duration(rapid.IntRange(-5000, 150_000).Draw(rt, "at")) * time.Microsecond, StackID: profile.None,
				ContextID: rapid.IntRange(0, len(contexts)-1).Draw(rt, "context"), Count: 1, Weight: ms,
			})
		}
		shown := 0
		for _, sample := range requests.Samples(q, tr) {
			shown++
			ran, unknown, known := false, false, false
			for g := range q.Waits.Goroutines {
				for n, i := range q.Waits.Goroutines[g].Intervals {
					if sample.Timestamp < i.Start-ms || sample.Timestamp > i.End+ms {
						continue
					}
					is := false
					for _, id := range below[contexts[sample.ContextID]] {
						is = is || of[[2]int{g, n}] == id
					}
					ran = ran || is && (i.Kind == waits.OnCPU || i.Kind == waits.Syscall || i.Kind == waits.CCode || i.Kind == waits.GCAssist)
					unknown = unknown || i.Kind == waits.Gap
					known = known || is && i.Kind != waits.Gap && i.Start <= sample.Timestamp && sample.Timestamp < i.End
				}
			}
			if !ran && (!unknown || known) {
				rt.Errorf("the sample at %v of span %d is shown, but nothing ran then: %+v", sample.Timestamp, contexts[sample.ContextID], q.Waits.Goroutines)
			}
		}
		if left := requests.Contradictions(q, tr); shown+left != len(tr.Samples) {
			rt.Errorf("%d samples are shown and %d are left out, of %d", shown, left, len(tr.Samples))
		}
	})
}

// A sample of a span agrees with what runs for the span or below it. Parents of spans may be missing, or form a cycle.
func TestSamplesAgreeWithSpansBelow(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	r.OnEnd(span(1, 1, 0, "GET /", 0, 1000*ms))
	request := r.Requests()[0].Request()
	rapid.Check(t, func(rt *rapid.T) {
		const root, missing = 1, 100
		q := request
		last := rapid.IntRange(1, 12).Draw(rt, "last span")
		parents := map[int]int{}
		var below []*otlpenc.Span
		for id := root + 1; id <= last; id++ {
			parents[id] = rapid.OneOf(rapid.IntRange(1, id-1), rapid.IntRange(1, last), rapid.Just(missing)).Draw(rt, "parent")
			s := *q.Root
			s.SpanID, s.ParentID = spanID(id), spanID(parents[id])
			below = append(below, &s)
		}
		q.Spans = []*otlpenc.Span{q.Root}
		if len(below) > 0 {
			q.Spans = append(q.Spans, rapid.Permutation(below).Draw(rt, "spans")...)
		}
		g := waits.Goroutine{ID: 1}
		for id := root; id <= last+1; id++ { // the last of them is no span
			g.Intervals = append(g.Intervals, did(waits.OnCPU, time.Duration(id*10)*ms, time.Duration(id*10+5)*ms, id, "", nil))
		}
		q.Waits = &waits.Request{TraceID: q.TraceID(), RootID: q.Root.SpanID, Start: base, Duration: 1000 * ms, Goroutines: []waits.Goroutine{g}}
		for id := root; id <= last+1; id++ {
			above := map[int]bool{id: id <= last, root: true}
			at := id
			for parents[at] > root && parents[at] != missing && !above[parents[at]] {
				at = parents[at]
				above[at] = true
			}
			cycle := parents[at] > root && parents[at] != missing
			for s := root; s <= last; s++ {
				if cycle && above[s] && s != root {
					continue // spans of a cycle have no row
				}
				if got, want := contradicts(t, q, s, time.Duration(id*10+2)*ms, profile.Ordinary), !above[s]; got != want {
					rt.Errorf("a sample of %d while %d runs contradicts: %t, want %t; parents are %v", s, id, got, want, parents)
				}
			}
		}
	})
}
