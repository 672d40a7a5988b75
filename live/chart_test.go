package live_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/profile"
)

// work serves a request with a measure, each of which burns until it is sampled, and ends session 1.
func (p *program) work() detail {
	p.serve("GET /work", "/work", func(_ http.ResponseWriter, r *http.Request) {
		burn(100*ms, p.sampled())
		_, m := marks.Start(r.Context(), "more")
		burn(100*ms, p.sampled())
		m.End()
	})
	p.call("StopProfiler", `{"sessionID":1}`, nil)
	return p.detail()
}

// The samples of a request are on its time, each with its stack, and grouped by span.
func TestSamplesOfARequest(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.serve("GET /before", "/before", func(http.ResponseWriter, *http.Request) {})
	p.startSession(`{"startMode":"START_MODE_IMMEDIATE","wall":true}`)
	d := p.work()
	var c struct {
		Session  uint32
		Engine   string
		Interval float64
		Frames   []struct{ Name, Kind string }
		Stacks   [][2]int
		Spans    []struct {
			ID      string
			Samples [][3]float64
		}
		Cut int
	}
	p.get("data/v1/requests/"+d.Trace+"/"+d.Span+"/samples", http.StatusOK, &c)
	if c.Session != 1 || c.Engine != "wall" || c.Interval <= 0 || c.Cut != 0 {
		t.Errorf("got %+v", c)
	}
	for i, s := range c.Stacks {
		if s[1] >= i || s[1] < -1 || s[0] < 0 || s[0] >= len(c.Frames) {
			t.Fatalf("stack %d is %v of %d frames", i, s, len(c.Frames))
		}
	}
	if len(c.Spans) != 2 || c.Spans[0].ID != d.Rows[0].ID || c.Spans[1].ID != d.Rows[1].ID {
		t.Fatalf("spans are %+v, want both", c.Spans)
	}
	session, err := p.pl.Sessions().Session(1)
	if err != nil {
		t.Fatal(err)
	}
	taken, began := session.Trace(), stored(p.pl).Requests()[0].RootSpan().Start
	for i, s := range c.Spans {
		var want [][2]float64 // when, and for how long
		for _, sample := range taken.Samples {
			if sample.ContextID != profile.None && taken.Contexts[sample.ContextID].SpanID.String() == s.ID {
				at := taken.Origin.Add(sample.Timestamp).Sub(began)
				want = append(want, [2]float64{record.Milliseconds(at), record.Milliseconds(sample.Weight)})
			}
		}
		var got [][2]float64
		at, burns := s.Samples[0][0], false
		for _, sample := range s.Samples {
			if sample[0] < at || sample[1] <= 0 {
				t.Errorf("a sample of %s is %v, after one at %v", d.Rows[i].Name, sample, at)
			}
			at = sample[0]
			got = append(got, [2]float64{sample[0], sample[1]})
			for stack := int(sample[2]); stack >= 0; stack = c.Stacks[stack][1] {
				burns = burns || strings.HasSuffix(c.Frames[c.Stacks[stack][0]].Name, ".burn")
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the samples of %s are at %v, want those of the session: %v", d.Rows[i].Name, got, want)
		}
		if !burns {
			t.Errorf("no sample of %s is in burn: %+v", d.Rows[i].Name, c.Frames)
		}
	}
	var f failure
	before := p.overview().Requests.Requests[1]
	p.get("data/v1/requests/"+before.Trace+"/"+before.Span+"/samples", http.StatusNotFound, &f)
	if f.Error != "no session in memory has samples of this request" {
		t.Errorf("of a request without samples the error is %q", f.Error)
	}
	p.get("data/v1/requests/0102030405060708090a0b0c0d0e0f10/0102030405060708/samples", http.StatusNotFound, nil)
}

// Clients that may not see sessions see no samples.
func TestSamplesAreRefused(t *testing.T) {
	p := start(t, perfline.Config{}, live.Config{})
	p.serve("GET /", "/", func(http.ResponseWriter, *http.Request) {})
	d := p.detail()
	p.get("data/v1/requests/"+d.Trace+"/"+d.Span+"/samples", http.StatusNotFound, nil)
}

// Deep stacks are cut to their outermost frames, and each depth has one frame.
func TestDeepSamplesAreCut(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.startSession(`{"startMode":"START_MODE_IMMEDIATE","wall":true}`)
	p.serve("GET /deep", "/deep", func(http.ResponseWriter, *http.Request) { deep(300, p.sampled()) })
	p.call("StopProfiler", `{"sessionID":1}`, nil)
	d := p.detail()
	var c struct {
		Stacks [][2]int
		Spans  []struct{ Samples [][3]float64 }
	}
	p.get("data/v1/requests/"+d.Trace+"/"+d.Span+"/samples", http.StatusOK, &c)
	depths := make([]int, len(c.Stacks))
	for i, s := range c.Stacks {
		depths[i] = 1
		if s[1] >= 0 {
			depths[i] += depths[s[1]]
		}
	}
	if len(c.Spans) == 0 || slices.Max(depths) < 120 || slices.Max(depths) > 129 {
		t.Errorf("the deepest of %d stacks has %d frames, want 128, and one for a wait", len(depths), slices.Max(depths))
	}
}

//go:noinline
func deep(n int, until func() bool) {
	if n == 0 {
		burn(100*ms, until)
		return
	}
	deep(n-1, until)
	deepest++
}

var deepest int
