package live_test

import (
	public "github.com/perfline/perfline/requests"

	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/live"
)

// Equal spans are a group, and the critical path has a part for each time in which one of them determined the duration.
func TestGroupsAndCriticalPath(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.serve("GET /cart", "/cart", func(_ http.ResponseWriter, r *http.Request) {
		tracer := p.pl.TracerProvider().Tracer("t")
		for i := range 4 {
			_, s := tracer.Start(r.Context(), "query\x00")
			if i == 2 {
				s.RecordError(errors.New("on purpose"))
				s.SetStatus(codes.Error, "on purpose")
			}
			burn(ms)
			s.End()
		}
	})
	d := p.detail()
	if len(d.Groups) != 1 || len(d.Rows) != 5 {
		t.Fatalf("got %d rows and groups %+v, want 5 and one group", len(d.Rows), d.Groups)
	}
	g, sum, longest := d.Groups[0], 0.0, 0.0
	for _, i := range g.Rows {
		sum += d.Rows[i].Took
		longest = max(longest, d.Rows[i].Took)
		if d.Rows[i].Took == longest && longest == g.Longest && d.Rows[i].ID != g.Slowest {
			t.Errorf("the slowest is %s, want %s", g.Slowest, d.Rows[i].ID)
		}
	}
	if g.Count != 4 || len(g.Rows) != 4 || g.Failed != 1 || math.Abs(g.Took-sum) > 1e-6 || g.Longest != longest {
		t.Errorf("got %+v, want 4 spans of %v ms in all, the longest of %v ms", g, sum, longest)
	}
	at := 0.0
	for _, part := range d.Path {
		if math.Abs(part.Start-at) > 1e-6 || part.Row >= len(d.Rows) {
			t.Errorf("the part of row %d begins at %v ms, want %v", part.Row, part.Start, at)
		}
		at = part.Start + part.Took
	}
	if math.Abs(at-d.Took) > 1e-6 || len(d.Path) != 9 {
		t.Errorf("%d parts reach to %v ms, want 9 to %v", len(d.Path), at, d.Took)
	}
	// Which of the two names has the larger share depends on the machine: the longest is first.
	root := d.Took - sum
	names := []string{`query\u0000`, "GET /cart"}
	if root > sum {
		slices.Reverse(names)
	}
	if len(d.Shares) != 2 || d.Shares[0].Name != names[0] || d.Shares[1].Name != names[1] {
		t.Fatalf("shares are %+v, want shares of %q in this order", d.Shares, names)
	}
	for _, s := range d.Shares {
		row, spans, took := d.Rows[0].ID, 1, root
		if s.Name != "GET /cart" {
			row, spans, took = g.Slowest, 4, sum
		}
		if s.Row != row || s.Spans != spans || math.Abs(s.Took-took) > 1e-6 {
			t.Errorf("a share is %+v, want %d spans of %v ms, and row %s", s, spans, took, row)
		}
	}
}

// The number of rows is bounded. The group counts all its spans.
func TestGroupsOfRowsThatAreCut(t *testing.T) {
	p := start(t, perfline.Config{Recent: public.Config{MaxSpans: 2000}}, live.Config{})
	p.serve("GET /", "/", func(_ http.ResponseWriter, r *http.Request) {
		for range 700 {
			_, s := p.pl.TracerProvider().Tracer("t").Start(r.Context(), strings.Repeat("q", 10))
			s.End()
		}
	})
	d := p.detail()
	if len(d.Rows) != 640 || len(d.Groups) != 1 || len(d.Groups[0].Rows) != 639 || d.Groups[0].Count != 700 {
		t.Errorf("got %d rows, and groups %+v, want 640 rows, and one group of 700 with 639 of them", len(d.Rows), d.Groups)
	}
	parts := 0
	for _, part := range d.Path {
		if part.Row >= len(d.Rows) {
			t.Errorf("a part of the path is of row %d", part.Row)
		}
		parts++
	}
	if parts == 0 || d.Cut.Path == 0 {
		t.Errorf("%d parts of the path, and %d are left out, want some", parts, d.Cut.Path)
	}
}
