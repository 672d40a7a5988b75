package live

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/observer"
)

// overview is what there is to choose from.
type overview struct {
	Service  string       `json:"service"`
	Requests []requestRow `json:"requests"` // that are no streams, the newest first
	// the slowest of the last hour, the slowest first
	Slowest      []requestRow `json:"slowest"`
	KeptRequests []keptRow    `json:"kept"`    // that a policy kept, the newest first
	Streams      []requestRow `json:"streams"` // the newest first
	// root spans that are no request, the newest first
	Background []requestRow `json:"background"`
	// of these, what pools of connections do by themselves
	Housekeeping []requestRow `json:"housekeeping"`
}

// requestRow is a request in a list. Here and below times are in milliseconds; a start is
// since the epoch of Unix.
type requestRow struct {
	Trace  string  `json:"trace"`
	Span   string  `json:"span"`
	Name   string  `json:"name"`
	Status string  `json:"status,omitempty"` // of the protocol
	Failed bool    `json:"failed,omitempty"`
	Start  float64 `json:"start"`
	Took   float64 `json:"took"`
}

// keptRow is a request that a policy kept, and why.
type keptRow struct {
	requestRow
	Reason string `json:"reason,omitempty"` // chosen, failed, slow or share
}

func (h *handler) overview() overview {
	recent := h.recent()
	newest, slowest, background, keptRequests := recent.Requests(), recent.Slowest(),
		recent.Background(), recent.KeptRequests()
	for _, all := range [][]requests.Snapshot{newest, background, keptRequests} {
		newestFirst(all)
	}
	h.listed.AddNew(newest)
	lists := h.rows.of(newest, slowest, background, keptRequests)
	o := overview{Slowest: lists[1], KeptRequests: make([]keptRow, 0, len(keptRequests))}
	o.Streams, o.Requests = split(lists[0],
		func(i int) bool { return newest[i].Class == local.Stream })
	o.Housekeeping, o.Background = split(lists[2],
		func(i int) bool { return background[i].Class == local.Housekeeping })
	for i, row := range lists[3] {
		o.KeptRequests = append(o.KeptRequests, keptRow{row, keptRequests[i].Keep.String()})
	}
	o.Service = serviceOf(slices.Concat(newest, background))
	return o
}

// newestFirst sorts requests by their ends. They come in the order in which they arrived, and each
// processor hands its requests over by itself: one that ended earlier may arrive later.
func newestFirst(all []requests.Snapshot) {
	slices.SortStableFunc(all, func(a, b requests.Snapshot) int { return b.End.Compare(a.End) })
}

// serviceOf returns the name of the service that made the requests, or "" if there are none.
func serviceOf(all []requests.Snapshot) string {
	if len(all) == 0 {
		return ""
	}
	name, _ := all[0].RootSpan().Group.Resource().Set().Value("service.name")
	return shown(name.AsString())
}

// split returns the rows for which is returns true, and the others.
func split(rows []requestRow, is func(i int) bool) (yes, no []requestRow) {
	yes, no = []requestRow{}, []requestRow{}
	for i, row := range rows {
		if is(i) {
			yes = append(yes, row)
		} else {
			no = append(no, row)
		}
	}
	return yes, no
}

// A rowCache has the rows of the requests listed last, because most of them are listed again.
type rowCache struct {
	mu   sync.Mutex // guards what follows
	last map[local.ID]requestRow
}

func (c *rowCache) of(lists ...[]requests.Snapshot) [][]requestRow {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([][]requestRow, len(lists))
	now := make(map[local.ID]requestRow, len(c.last))
	for i, list := range lists {
		all[i] = make([]requestRow, 0, len(list))
		for _, s := range list {
			id := s.ID()
			row, known := now[id]
			if !known {
				row, known = c.last[id]
			}
			if !known {
				root := s.RootSpan()
				row = newRequestRow(&root)
			}
			now[id] = row
			all[i] = append(all[i], row)
		}
	}
	c.last = now
	return all
}

func newRequestRow(root *otlpenc.Span) requestRow {
	return requestRow{
		Trace:  root.TraceID.String(),
		Span:   root.SpanID.String(),
		Name:   shown(requests.Row{Span: root}.Name()),
		Status: shown(requests.ProtocolStatus(root)),
		Failed: root.Status.Code == codes.Error,
		Start:  sinceEpoch(root.Start),
		Took:   observer.Milliseconds(root.Duration()),
	}
}

func sinceEpoch(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }
