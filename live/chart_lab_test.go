//go:build lab

package live_test

import (
	"net/http"
	"testing"

	"github.com/perfline/perfline/live"
)

// The samples of a span lie in its time, give or take a millisecond. A tick that stands still for longer, on a busy machine, has read the clock before a
// span begins which it sees then: TestSamplesOfARequest compares the samples with the session's.
func TestLabSamplesOfARequest(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.startSession(`{"startMode":"START_MODE_IMMEDIATE","wall":true}`)
	burn(0, p.sampled()) // each span begins just after a tick
	d := p.work()
	var c struct {
		Spans []struct{ Samples [][3]float64 }
	}
	p.get("data/v1/requests/"+d.Trace+"/"+d.Span+"/samples", http.StatusOK, &c)
	if len(c.Spans) != 2 {
		t.Fatalf("%d spans have samples, want 2", len(c.Spans))
	}
	for i, s := range c.Spans {
		for _, sample := range s.Samples {
			if from, to := d.Rows[i].Start-1, d.Rows[i].Start+d.Rows[i].Took+1; sample[0] < from || sample[0] > to {
				t.Errorf("a sample of %s is %v; the span is from %v to %v ms", d.Rows[i].Name, sample, from+1, to-1)
			}
		}
	}
}
