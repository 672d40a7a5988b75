package main

import (
	"context"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

// A flow is a signal on its way from the service to a backend, and what became of it.
type flow struct {
	what string // the items: "spans"
	read func(perfline.Stats) service.Book

	// count counts the items that have arrived from a service since a time. The count of a
	// component that forgets begins with its process, whatever the time. nil: they are not
	// compared with what was delivered.
	count  func(ctx context.Context, service string, since time.Time) (int, error)
	before int // the count of processes that were killed

	book    service.Book // at the service's end
	arrived int          // at the backend
	notes   []string     // for the report
}

// arrivals counts what has arrived from the service, also before the process was killed.
func (f *flow) arrivals(ctx context.Context, service string) (int, error) {
	n, err := f.count(ctx, service, time.Now().Add(-time.Hour))
	return f.before + n, err
}

// settledCount counts what has arrived when the count is the same several times in a row: what
// was under way has arrived then.
func (f *flow) settledCount(ctx context.Context) (n int, err error) {
	same := 0
	err = backend.Poll(ctx, func() (bool, error) {
		now, err := f.count(ctx, "", time.Time{})
		if now != n {
			n, same = now, 0
		}
		same++
		return same >= 5, err
	})
	return n, err
}
