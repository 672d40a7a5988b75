package live

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

// Two work at a time. A third waits for its turn, but not for long, and not when nobody waits for it.
func TestWorkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &handler{work: make(chan struct{}, maxWork)}
		ask := func(ctx context.Context) (done func(), ok bool, rec *httptest.ResponseRecorder) {
			rec = httptest.NewRecorder()
			done, ok = h.working(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
			return done, ok, rec
		}
		first, ok, _ := ask(t.Context())
		if !ok {
			t.Fatal("the first has to wait")
		}
		if _, ok, _ = ask(t.Context()); !ok {
			t.Fatal("the second has to wait")
		}
		began := time.Now()
		_, ok, rec := ask(t.Context())
		if took := time.Since(began); ok || rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || took != workTime {
			t.Errorf("a third: %v, %d %v after %v, want to be sent away after %v", ok, rec.Code, rec.Header(), took, workTime)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, ok, _ = ask(gone); ok || time.Since(began) != workTime {
			t.Errorf("a third that is gone: %v after %v", ok, time.Since(began)-workTime)
		}
		time.AfterFunc(time.Second, first)
		if _, ok, _ = ask(t.Context()); !ok || time.Since(began) != workTime+time.Second {
			t.Errorf("a third, when the first is done after a second: %v after %v", ok, time.Since(began)-workTime)
		}
	})
}

// A flame graph that nobody waits for is given up, wherever it is.
func TestFlameGraphEndsWithItsContext(t *testing.T) {
	tr := traceOf(map[string]time.Duration{"main;a": 10 * ms})
	many := slices.Repeat(tr.Samples, 3*lookEvery)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	seen := 0
	g, err := newFlameGraph(ctx, tr, func(yield func(profile.Sample) bool) {
		for _, s := range many {
			if seen++; seen == lookEvery/2 {
				cancel(gone)
			}
			if !yield(s) {
				return
			}
		}
	})
	if !errors.Is(err, gone) || len(g.Nodes) > 0 || seen > lookEvery+1 {
		t.Errorf("given up after %d samples with %v and %d nodes, want %d at most", seen, err, len(g.Nodes), lookEvery+1)
	}
}
