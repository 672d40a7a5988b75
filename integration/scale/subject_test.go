package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

func TestWhyNotHeld(t *testing.T) {
	for _, c := range []struct {
		name string
		sample
		want string // empty: held
	}{
		{name: "held", sample: sample{rate: 1000, p99: heldP99, backlog: 100}},
		{name: "few requests at a low rate are no backlog", sample: sample{rate: 10, backlog: 2}},
		{name: "a request failed", sample: sample{rate: 1000, failed: 1}, want: "1 requests failed"},
		{name: "requests wait", sample: sample{rate: 1000, backlog: 101}, want: "101 requests waited"},
		{name: "slow", sample: sample{rate: 1000, p99: heldP99 + time.Millisecond}, want: "p99 101 ms"},
		{name: "a span is lost", sample: sample{rate: 1000, lost: 1}, want: "1 spans lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.why(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWhyNotCarried(t *testing.T) {
	for _, c := range []struct {
		name string
		carried
		want string // empty: held
	}{
		{name: "held", carried: carried{rate: 1000, p99: heldSpans, left: 100}},
		{name: "refused", carried: carried{rate: 1000, refused: 2}, want: "2 batches refused"},
		{name: "not sent", carried: carried{rate: 1000, unsent: 3}, want: "3 batches could not"},
		{name: "slow", carried: carried{rate: 1000, p99: heldSpans + 10*time.Millisecond}, want: "p99"},
		{name: "the queue grows", carried: carried{rate: 1000, left: 101}, want: "101 spans left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.why(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestSampleOfARate(t *testing.T) {
	s := &subject{samples: map[int][]sample{
		100: {{rate: 100, p99: 30, cpu: 1, wire: 10}, {rate: 100, p99: 10, cpu: 3, wire: 20}, {rate: 100, p99: 20, cpu: 2, wire: 90}},
		200: {{rate: 200, p99: time.Second, cpu: 100}, {rate: 200, cpu: 6}, {rate: 200, cpu: 8}},
		400: {{rate: 400, lost: 7}},
	}}
	for _, c := range []struct {
		name string
		rate int
		ok   bool
		want sample
	}{
		{"the median of each value", 100, true, sample{rate: 100, p99: 20, cpu: 2, wire: 20}},
		{"those held alone, if any were", 200, true, sample{rate: 200, cpu: 7}},
		{"else those that were not", 400, true, sample{rate: 400, lost: 7}},
		{"none", 800, false, sample{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := s.at(c.rate); got != c.want || ok != c.ok {
				t.Errorf("got %+v and %v, want %+v and %v", got, ok, c.want, c.ok)
			}
		})
	}
}

func TestProcessors(t *testing.T) {
	for all, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 2, 4, 6}, 8: {1, 2, 4, 8}} {
		if got := processors(all); !slices.Equal(got, want) {
			t.Errorf("of %d: %v, want %v", all, got, want)
		}
	}
}

func TestProfilesSent(t *testing.T) {
	for _, c := range []struct {
		name, output string
		want         int
		fails        string
	}{
		{name: "some", output: "…\n39 profiles for Pyroscope: 39 delivered, 0 lost.\n", want: 39},
		{name: "silent", output: "…\n", fails: "does not say"},
		{name: "none", output: "0 profiles for Pyroscope: 0 delivered, 0 lost.\n", fails: "0 were delivered"},
		{name: "lost", output: "9 profiles for Pyroscope: 8 delivered, 1 lost.\n", fails: "1 lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := profilesSent([]byte(c.output))
			if got != c.want || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("got %d and %v, want %d and an error with %q", got, err, c.want, c.fails)
			}
		})
	}
}

// A service that is measured gives what its way says: so many spans a request, and bytes
// on the wire where there are spans.
func TestMeasure(t *testing.T) {
	ctx := t.Context()
	for _, w := range slices.Concat(curveWays, furtherWays[:2]) {
		t.Run(w.name, func(t *testing.T) {
			spans, err := startSink(ctx, false)
			if err != nil {
				t.Fatal(err)
			}
			defer spans.stop()
			s, err := startSubject(ctx, w, 1, 100*time.Millisecond, spans, spans.address, "")
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.stop(); err != nil {
					t.Error(err)
				}
			}()
			m, err := s.measure(ctx, 100, 200*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if m.failed > 0 || m.lost > 0 || m.spans != float64(w.spans) || m.cpu <= 0 || m.memory == 0 {
				t.Errorf("got %+v, want %d spans a request, and CPU and memory", m, w.spans)
			}
			if (m.wire > 0) != (w.spans > 0) {
				t.Errorf("%v bytes a request on the wire, with %d spans", m.wire, w.spans)
			}
			if w.spans > 0 && w.spans != trial.SpansOfRequest {
				t.Errorf("the way has %d spans a request, the service makes %d", w.spans, trial.SpansOfRequest)
			}
		})
	}
}
