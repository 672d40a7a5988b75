package live

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/exporter/requests"
	"github.com/perfline/perfline/observer"
)

// overview is what there is to choose from.
type overview struct {
	Service  string       `json:"service"`
	Requests []requestRow `json:"requests"` // the newest first
	Slowest  []requestRow `json:"slowest"`
	Routes   []routeRow   `json:"routes"` // the one with the slowest request first

	KeptRequests []keptRow    `json:"kept"`       // requests that a policy kept, the newest first
	Background   []requestRow `json:"background"` // root spans that are no request, the newest first
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
	Reason string `json:"reason"` // chosen, failed, slow or share
}

// routeRow sums up the requests kept that have the same name.
type routeRow struct {
	Name   string  `json:"name"`
	Count  int     `json:"count"`
	Failed int     `json:"failed"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func (h *handler) overview() overview {
	newest, slowest := h.source.Recent().Snapshots()
	background, keptRequests := h.source.Recent().Background(), h.source.Recent().KeptRequests()
	h.listed.addNew(newest)
	lists := h.rows.of(newest, slowest, background, keptRequests)
	o := overview{Requests: lists[0], Slowest: lists[1], Background: lists[2], KeptRequests: make([]keptRow, 0, len(keptRequests))}
	for i, row := range lists[3] {
		o.KeptRequests = append(o.KeptRequests, keptRow{row, keptRequests[i].KeepReason().String()})
	}
	if all := slices.Concat(newest, background); len(all) > 0 {
		if name, ok := all[0].Group().Resource().Set().Value("service.name"); ok {
			o.Service = shown(name.AsString())
		}
	}
	o.Routes = routesOf(o.Requests, o.Slowest, lists[3])
	return o
}

// A rowCache has the rows of the requests listed last, because most of them are listed again.
type rowCache struct {
	mu   sync.Mutex // guards what follows
	last map[requestID]requestRow
}

func (c *rowCache) of(lists ...[]requests.Snapshot) [][]requestRow {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([][]requestRow, len(lists))
	now := make(map[requestID]requestRow, len(c.last))
	for i, list := range lists {
		all[i] = make([]requestRow, 0, len(list))
		for _, s := range list {
			id := idOf(s)
			row, known := now[id]
			if !known {
				row, known = c.last[id]
			}
			if !known {
				root := s.Root()
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
	r := requestRow{
		Trace:  root.TraceID.String(),
		Span:   root.SpanID.String(),
		Name:   shown(requests.Row{Span: root}.Name()),
		Failed: root.Status.Code == codes.Error,
		Start:  sinceEpoch(root.Start),
		Took:   observer.Milliseconds(root.Duration()),
	}
	for _, kv := range root.Attributes {
		switch kv.Key {
		case "http.response.status_code", "rpc.grpc.status_code", "rpc.response.status_code":
			r.Status = shown(kv.Value.String())
		}
	}
	return r
}

func sinceEpoch(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

// routesOf counts each request once, though it may be in several lists.
func routesOf(lists ...[]requestRow) []routeRow {
	seen := map[string]bool{}
	took := map[string][]float64{}
	failed := map[string]int{}
	for _, r := range slices.Concat(lists...) {
		if seen[r.Trace+r.Span] {
			continue
		}
		seen[r.Trace+r.Span] = true
		took[r.Name] = append(took[r.Name], r.Took)
		if r.Failed {
			failed[r.Name]++
		}
	}
	rows := make([]routeRow, 0, len(took))
	for name, all := range took {
		slices.Sort(all)
		rows = append(rows, routeRow{Name: name, Count: len(all), Failed: failed[name], Median: all[(len(all)-1)/2], Max: all[len(all)-1]})
	}
	slices.SortFunc(rows, func(a, b routeRow) int { return cmp.Or(cmp.Compare(b.Max, a.Max), cmp.Compare(a.Name, b.Name)) })
	return rows
}
