package live

import (
	"context"
	"net/http"
	"sync"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/live/internal/view"
)

// A deathsCache stores the reports about earlier processes as clients may see the reports.
type deathsCache struct {
	mu      sync.Mutex // guards the fields below
	visible map[*blackbox.Report]*blackbox.Report
}

// deaths returns the reports about earlier processes, the newest first, without the functions that
// the policy hides.
func (h *handler) deaths() []*blackbox.Report {
	all := (*blackbox.Reports)(h.source.Deaths())
	if all == nil {
		return nil
	}
	c := &h.deathsCache
	c.mu.Lock()
	defer c.mu.Unlock()
	var visible []*blackbox.Report
	for _, r := range all.All() {
		v, ok := c.visible[r]
		if !ok {
			v = r.Visible(h.policy.Shows)
			if c.visible == nil {
				c.visible = map[*blackbox.Report]*blackbox.Report{}
			}
			c.visible[r] = v
		}
		visible = append(visible, v)
	}
	return visible
}

func (h *handler) deathRows() []view.DeathRow {
	return view.NewDeathRows(h.deaths(), h.data == guard.Summary)
}

func (h *handler) deathReports(*http.Request) (builder[view.DeathReports], error) {
	return func(context.Context) (view.DeathReports, error) {
		return view.NewDeathReports(h.deaths()), nil
	}, nil
}

// died returns a request that was open when an earlier process ended.
func (h *handler) died(id local.ID) (s requests.Snapshot, ok bool) {
	for _, r := range h.deaths() {
		for i := range r.Open {
			if s := r.Open[i].Snapshot; s.ID() == id {
				return s, true
			}
		}
	}
	return s, false
}

// withWaits decodes a request, and adds the result of the waits recorder or why there is none.
func (h *handler) withWaits(s requests.Snapshot) requests.Request {
	if _, died := h.died(s.ID()); died {
		q := s.Request()
		q.NoWaits = waiting.Earlier
		return q
	}
	return h.waits.With(s)
}

// remember keeps a request that a client opened, unless a report has the request: searches find
// requests of this process.
func (h *handler) remember(s requests.Snapshot) {
	if _, died := h.died(s.ID()); !died {
		h.opened.Add(s)
	}
}
