package requests_test

import (
	"math"
	"testing"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/requests"
)

// Numbers without bound, of which a sum would overflow, are as good as others.
func TestNumbersWithoutBound(t *testing.T) {
	all := encodedSpans()
	for _, c := range []requests.Config{
		{Requests: math.MaxInt},
		{Requests: math.MaxInt, Slowest: math.MaxInt, MaxPending: math.MaxInt, MaxSpans: math.MaxInt},
		{Requests: math.MaxInt, KeptRequests: math.MaxInt, Slowest: 2, Background: -1, Examples: -1},
		{Requests: 1, Slowest: -1, MaxPending: -1},
	} {
		r := requests.NewRecent(c)
		for _, s := range all {
			r.Accept([]bridge.Spans{s})
		}
		if got := r.Stats().Requests; got != 256 {
			t.Errorf("%+v: %d requests ended, want 256", c, got)
		}
		if got, want := len(r.Requests()), min(c.Requests, 256); got != want {
			t.Errorf("%+v: %d requests, want %d", c, got, want)
		}
	}
}
