package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/live/internal/view"
)

const leakPause = 10 * time.Second // between two searches: each search stops the world

// leakProfile returns the runtime's profile of leaked goroutines, or nil before Go 1.27.
func leakProfile() *pprof.Profile { return pprof.Lookup("goroutineleak") }

// A leakFinder finds leaked goroutines, one search at a time, and at most one every leakPause.
type leakFinder struct {
	mu   sync.Mutex // guards the fields below, and is held during a search
	last view.LeakReport
	at   time.Time // end of the last search; zero before the first search
}

// leaks answers with the leaked goroutines. Within leakPause of a search, all clients get the same
// answer.
func (h *handler) leaks(*http.Request) (builder[view.LeakReport], error) {
	if err := h.checkSessions(); err != nil {
		return nil, err
	}
	leaked := leakProfile()
	if leaked == nil {
		return nil, errors.New("the Go release of this program has no profile of leaked " +
			"goroutines: build it with Go 1.27")
	}
	return func(context.Context) (view.LeakReport, error) {
		report, err := h.leakFinder.find(leaked, h.policy.Shows)
		if err != nil {
			err = fmt.Errorf("looking for leaked goroutines: %w", err)
			err = &refusal{error: err, status: http.StatusInternalServerError}
		}
		return report, err
	}, nil
}

func (l *leakFinder) find(
	leaked *pprof.Profile, shows func(function string) bool,
) (view.LeakReport, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.IsZero() && time.Since(l.at) < leakPause {
		return l.last, nil
	}
	began := time.Now()
	var raw bytes.Buffer
	if err := leaked.WriteTo(&raw, 0); err != nil {
		return view.LeakReport{}, err
	}
	took := time.Since(began)
	p, err := profile.Parse(&raw)
	if err != nil {
		return view.LeakReport{}, err
	}
	l.last, l.at = view.NewLeakReport(p, shows, began, took), time.Now()
	return l.last, nil
}
