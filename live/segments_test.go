package live_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/perfline/perfline/waits"
)

// The parts of bars in which a goroutine waited tell what for, where, and who ended the wait.
func TestWaitsOfBars(t *testing.T) {
	p, _, _ := waited(t)
	d := p.detail()
	holder := p.overview().Requests.Requests[1]
	row := d.Rows[1].Segments
	if len(row) != 1 || row[0].Kind != waits.Mutex.String() || row[0].In == nil || row[0].By == nil || row[0].Wait <= 0 {
		t.Fatalf("the bar has %+v, want one wait", row)
	}
	if got, want := d.Waits.Functions[*row[0].In], `main.(*Index).Search\u0000`; got != want {
		t.Errorf("it is in %s, want %s", got, want)
	}
	if by := d.Waits.Parties[*row[0].By]; by.Trace != holder.Trace || by.Span != holder.Span || by.Function != "main.(*Index).rebuild" || by.Stack != nil {
		t.Errorf("it is ended by %+v, want the request %+v", by, holder)
	}
	if first := d.Rows[0].Segments[0]; first.Class != "running" || first.By != nil || first.In != nil || first.Wait != 0 {
		t.Errorf("where the goroutine ran, the bar has %+v", first)
	}
}

// A part of the request has finer parts of bars.
func TestSegmentsOfAWindow(t *testing.T) {
	p, _, result := waited(t)
	g := &result.Goroutines[0]
	begin, end := g.Intervals[1].Start, g.Intervals[1].End
	g.Intervals = g.Intervals[:1:1]
	n := 0
	for at := begin; at < end; n++ { // pieces that are too short for the columns of the whole request
		next := min(end, at+(end-begin)/500+1)
		kind := []waits.Kind{waits.Mutex, waits.OnCPU}[n%2]
		g.Intervals = append(g.Intervals, waits.Interval{Kind: kind, Start: at, End: next, SpanID: result.Causes[0].SpanID, By: result.Causes[0].By})
		at = next
	}
	d := p.detail()
	path := "data/v1/requests/" + d.Trace + "/" + d.Span + "/waits"
	row := d.Rows[1]
	var got struct {
		Spans []struct {
			ID       string
			Segments []segment
		}
		Parties []party
	}
	p.get(fmt.Sprintf("%s?from=%v&to=%v&columns=1000", path, row.Start, row.Start+row.Took), http.StatusOK, &got)
	found := 0
	for _, s := range got.Spans {
		if s.ID == row.ID {
			found = len(s.Segments)
		}
		for _, part := range s.Segments {
			if part.Start < row.Start-1e-3 || part.Start+part.Took > row.Start+row.Took+1e-3 || part.Took <= 0 {
				t.Errorf("the part %+v is not within %v and %v ms", part, row.Start, row.Start+row.Took)
			}
			if part.By != nil && got.Parties[*part.By].Request != "POST /index" {
				t.Errorf("a wait is ended by %+v", got.Parties[*part.By])
			}
		}
	}
	if found < n-2 || found <= len(row.Segments) {
		t.Errorf("the span has %d parts of %d, and %d in the whole request", found, n, len(row.Segments))
	}
	for _, c := range []struct {
		query, want string
		status      int
	}{
		{"", "from and to must be milliseconds since the start of the request", http.StatusBadRequest},
		{"?from=NaN&to=1&columns=10", "from and to must be", http.StatusBadRequest},
		{"?from=-1&to=1&columns=10", "from and to must be", http.StatusBadRequest},
		{"?from=0&to=1e9&columns=10", "from and to must be", http.StatusBadRequest},
		{fmt.Sprintf("?from=0&to=%v&columns=1001", d.Took), "columns must be a number from 1 to 1000", http.StatusBadRequest},
		{fmt.Sprintf("?from=0&to=%v&columns=0", d.Took), "columns must be a number from 1 to 1000", http.StatusBadRequest},
	} {
		var f failure
		p.get(path+c.query, c.status, &f)
		if len(f.Error) < len(c.want) || f.Error[:len(c.want)] != c.want {
			t.Errorf("%q: the error is %q, want %q", c.query, f.Error, c.want)
		}
	}
	p.get("data/v1/requests/0102030405060708090a0b0c0d0e0f10/0102030405060708/waits?from=0&to=1&columns=1", http.StatusNotFound, nil)
}
