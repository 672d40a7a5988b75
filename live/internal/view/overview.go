package view

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

// An Overview is what there is to choose from.
type Overview struct {
	Service  string       `json:"service"`  // service.name, empty before the first request
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
	Trace  string  `json:"trace"`            // id of the trace, 32 hex digits
	Span   string  `json:"span"`             // id of the root span, 16 hex digits
	Name   string  `json:"name"`             // name
	Status string  `json:"status,omitempty"` // of the protocol
	Failed bool    `json:"failed,omitempty"` // it ended with an error
	Start  float64 `json:"start"`            // since the epoch of Unix
	Took   float64 `json:"took"`             // duration
}

// keptRow is a request that a policy kept, and why.
type keptRow struct {
	requestRow
	Reason string `json:"reason,omitempty"` // chosen, failed, slow or share
}

// NewOverview lists requests. The newest, those of the background and those that a policy kept come
// in the order in which they arrived; NewOverview sorts them.
func NewOverview(newest, slowest, background, kept []requests.Snapshot, cache *RowCache) Overview {
	for _, all := range [][]requests.Snapshot{newest, background, kept} {
		newestFirst(all)
	}
	lists := cache.of(newest, slowest, background, kept)
	o := Overview{Slowest: lists[1], KeptRequests: make([]keptRow, 0, len(kept))}
	o.Streams, o.Requests = split(lists[0],
		func(i int) bool { return newest[i].Class == local.Stream })
	o.Housekeeping, o.Background = split(lists[2], func(i int) bool {
		return background[i].Class == local.Housekeeping
	})
	for i, row := range lists[3] {
		o.KeptRequests = append(o.KeptRequests, keptRow{row, kept[i].Keep.String()})
	}
	o.Service = serviceOf(slices.Concat(newest, background))
	return o
}

// A SearchAnswer has the requests that a query describes.
type SearchAnswer struct {
	Requests []keptRow `json:"requests"` // the newest first
	More     bool      `json:"more"`     // others match, too
	InMemory int       `json:"inMemory"` // requests of the class, of which the query found these
}

// NewSearchAnswer lists the requests that a query found. With more, others are left out.
// InMemory is the number of requests of the class.
func NewSearchAnswer(found []requests.Snapshot, more bool, inMemory int) SearchAnswer {
	a := SearchAnswer{Requests: make([]keptRow, 0, len(found)), More: more, InMemory: inMemory}
	for i, row := range newRequestRows(found) {
		a.Requests = append(a.Requests, keptRow{row, found[i].Keep.String()})
	}
	return a
}

// newestFirst sorts requests by their ends. Each processor hands its requests over by itself: a
// request that ended earlier may arrive later.
func newestFirst(all []requests.Snapshot) {
	slices.SortStableFunc(all, func(a, b requests.Snapshot) int { return b.End.Compare(a.End) })
}

// serviceOf returns the name of the service that made the requests, or "" if there are none.
func serviceOf(all []requests.Snapshot) string {
	if len(all) == 0 {
		return ""
	}
	name, _ := all[0].RootSpan().Group.Resource().Set().Value("service.name")
	return Shown(name.AsString())
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

// A RowCache has the rows of the requests listed last, because most of them are listed again.
type RowCache struct {
	mu   sync.Mutex // guards what follows
	last map[local.ID]requestRow
}

func (c *RowCache) of(lists ...[]requests.Snapshot) [][]requestRow {
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

func newRequestRows(all []requests.Snapshot) []requestRow {
	rows := make([]requestRow, 0, len(all))
	for _, s := range all {
		root := s.RootSpan()
		rows = append(rows, newRequestRow(&root))
	}
	return rows
}

func newRequestRow(root *otlpenc.Span) requestRow {
	return requestRow{
		Trace:  root.TraceID.String(),
		Span:   root.SpanID.String(),
		Name:   Shown(requests.Row{Span: root}.Name()),
		Status: Shown(requests.ProtocolStatus(root)),
		Failed: root.Status.Code == codes.Error,
		Start:  SinceEpoch(root.Start),
		Took:   observer.Milliseconds(root.Duration()),
	}
}

// SinceEpoch returns the milliseconds since the epoch of Unix.
func SinceEpoch(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }
