package live

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/observer"
)

// overview is what there is to choose from.
type overview struct {
	Service  string       `json:"service"`
	Requests []requestRow `json:"requests"` // the newest first
	Slowest  []requestRow `json:"slowest"`
	Routes   []routeRow   `json:"routes"` // the one with the slowest request first
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

// routeRow sums up the requests kept that have the same name.
type routeRow struct {
	Name   string  `json:"name"`
	Count  int     `json:"count"`
	Failed int     `json:"failed"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func (h *handler) overview() overview {
	newest, slowest := h.source.Recent().Roots()
	o := overview{Requests: requestRows(newest), Slowest: requestRows(slowest)}
	h.list(o.Requests)
	for _, root := range newest[:min(1, len(newest))] {
		if name, ok := root.Resource().Set().Value("service.name"); ok {
			o.Service = shown(name.AsString())
		}
	}
	o.Routes = routes(o.Requests, o.Slowest)
	return o
}

func requestRows(roots []sdktrace.ReadOnlySpan) []requestRow {
	rows := make([]requestRow, 0, len(roots))
	for _, root := range roots {
		rows = append(rows, newRequestRow(root))
	}
	return rows
}

func newRequestRow(root sdktrace.ReadOnlySpan) requestRow {
	sc := root.SpanContext()
	r := requestRow{
		Trace:  sc.TraceID().String(),
		Span:   sc.SpanID().String(),
		Name:   shown(root.Name()),
		Failed: root.Status().Code == codes.Error,
		Start:  sinceEpoch(root.StartTime()),
		Took:   observer.Milliseconds(root.EndTime().Sub(root.StartTime())),
	}
	for _, kv := range root.Attributes() {
		switch kv.Key {
		case "http.response.status_code", "rpc.grpc.status_code", "rpc.response.status_code":
			r.Status = shown(kv.Value.String())
		}
	}
	return r
}

func sinceEpoch(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

// routes counts each request once, though it may be in several lists.
func routes(lists ...[]requestRow) []routeRow {
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
