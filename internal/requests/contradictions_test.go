package requests_test

import (
	"testing"
	"time"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/waits"
)

// contradicts reports whether one sample of running code contradicts the states of a request.
func contradicts(t *testing.T, q requests.Request, span int, at time.Duration, marker profile.Marker) bool {
	t.Helper()
	tr := &profile.Trace{
		Origin: base, Engine: profile.EngineCPU,
		Contexts: []profile.SampleContext{{TraceID: q.TraceID(), SpanID: spanID(span)}},
		Samples:  []profile.Sample{{Timestamp: at, StackID: profile.None, Weight: ms, Count: 1, Marker: marker}},
	}
	shown, n := 0, requests.Contradictions(q, tr)
	for range requests.Samples(q, tr) {
		shown++
	}
	if shown+n != 1 {
		t.Fatalf("%d samples are shown and %d are contradictions, of 1", shown, n)
	}
	return n == 1
}

// The execution trace has no notes of short spans and of measures. Their samples are compared with the span above.
func TestContradictionsOfSpansWithoutNotes(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	r.OnEnd(span(1, 2, 1, "short", 10*ms, 10*ms+80*time.Microsecond))
	r.OnEnd(span(1, 3, 1, "measure", 20*ms, 40*ms, ofMeasure))
	r.OnEnd(span(1, 4, 3, "short in the measure", 30*ms, 30*ms+80*time.Microsecond))
	r.OnEnd(span(1, 5, 1, "not in the trace", 50*ms, 60*ms))
	r.OnEnd(span(1, 6, 5, "short in a span that is not in the trace", 55*ms, 55*ms+80*time.Microsecond))
	r.OnEnd(span(1, 7, 1, "lookup", 60*ms, 80*ms))
	r.OnEnd(span(1, 8, 7, "measure of the lookup", 62*ms, 78*ms, ofMeasure))
	r.OnEnd(span(1, 1, 0, "GET /", 0, 100*ms))
	q := r.Requests()[0].Request()
	q.Waits = &waits.Request{
		TraceID: q.TraceID(), RootID: q.Root.SpanID, Start: base, Duration: 100 * ms,
		Goroutines: []waits.Goroutine{
			{ID: 1, Intervals: []waits.Interval{
				did(waits.OnCPU, 0, 60*ms, 1, "", nil),
				did(waits.OnCPU, 60*ms, 65*ms, 7, "", nil),
				did(waits.Mutex, 65*ms, 80*ms, 7, "example.com/app.lookup", nil),
				did(waits.OnCPU, 80*ms, 100*ms, 1, "", nil),
			}},
			{ID: 2, Intervals: []waits.Interval{did(waits.OnCPU, 60*ms, 80*ms, 1, "", nil)}},
		},
	}
	for _, c := range []struct {
		name string
		span int
		at   time.Duration
		want bool
	}{
		{"a short span", 2, 10*ms + 40*time.Microsecond, false},
		{"a measure", 3, 25 * ms, false},
		{"a short span in a measure", 4, 30*ms + 40*time.Microsecond, false},
		{"a span that the trace lacks", 5, 55 * ms, true},
		{"a short span in a span that the trace lacks", 6, 55*ms + 40*time.Microsecond, false},
		{"a measure in a span that runs", 8, 63 * ms, false},
		{"a measure in a span that waits", 8, 72 * ms, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := contradicts(t, q, c.span, c.at, profile.Ordinary); got != c.want {
				t.Errorf("the sample contradicts: %t, want %t", got, c.want)
			}
		})
	}
}

// A sample may be of a goroutine that the states omit. It contradicts them only if they have another state of its span.
func TestContradictionsWithOmittedGoroutines(t *testing.T) {
	q := waited(t)
	for _, c := range []struct {
		name    string
		span    int
		at      time.Duration
		marker  profile.Marker
		omitted int
		want    bool
	}{
		{"nothing of the span", 4, 10 * ms, profile.Ordinary, 0, true},
		{"nothing of the span, and a goroutine is omitted", 4, 10 * ms, profile.Ordinary, 1, false},
		{"nothing of the span, and a waiting goroutine is omitted", 4, 10 * ms, profile.Idle, 1, false},
		{"after the request", 1, 120 * ms, profile.Ordinary, 1, false},
		{"only a wait nearby", 4, 80*ms + 500*time.Microsecond, profile.Idle, 1, false},
		{"a span that the trace lacks", 6, 90 * ms, profile.Ordinary, 1, false},
		{"the span waits", 2, 25 * ms, profile.Ordinary, 1, true},
		{"the span runs", 1, 7 * ms, profile.Ordinary, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			q.Waits.Omitted = c.omitted
			if got := contradicts(t, q, c.span, c.at, c.marker); got != c.want {
				t.Errorf("the sample contradicts: %t, want %t", got, c.want)
			}
			if n := len(q.Waits.Goroutines); n != 2 {
				t.Errorf("the states have %d goroutines afterwards, want the same 2", n)
			}
		})
	}
}
