package view

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/requests"
)

// An Overview lists the requests that a user of the page can open.
type Overview struct {
	// service.name, empty before the first request
	Service  string       `json:"service"`
	Requests []requestRow `json:"requests"` // the newest requests, the newest first
	// requests of the last hour, the slowest first
	Slowest []requestRow `json:"slowest"`
	// requests that a policy kept, the newest first
	KeptRequests []keptRow    `json:"kept"`
	Streams      []requestRow `json:"streams"`         // the newest first
	Inner        []requestRow `json:"inner,omitempty"` // requests inside others, the newest first
	Background   []requestRow `json:"background"`      // other root spans, the newest first
	Housekeeping []requestRow `json:"housekeeping"`    // work of connection pools, the newest first
}

// A requestRow is a request in a list.
type requestRow struct {
	Trace  string  `json:"trace"`            // id of the trace, 32 hex digits
	Span   string  `json:"span"`             // id of the root span, 16 hex digits
	Name   string  `json:"name"`             // of the root span; of a client span, with the callee
	Status string  `json:"status,omitempty"` // status of the protocol
	Failed bool    `json:"failed,omitempty"` // the request ended with an error
	Start  float64 `json:"start"`            // since the epoch of Unix
	Took   float64 `json:"took"`             // duration
}

// A keptRow is a request with the reason why a policy kept the request.
type keptRow struct {
	requestRow
	Reason string `json:"reason,omitempty"` // chosen, failed, slow, error_inside or share
}

// NewOverview returns lists of requests. NewOverview sorts newest, background and kept in place,
// the newest request first. The caller must sort slowest, the slowest request first.
func NewOverview(newest, slowest, background, kept []requests.Snapshot, cache *RowCache) Overview {
	for _, all := range [][]requests.Snapshot{newest, background, kept} {
		newestFirst(all)
	}
	lists := cache.rows(newest, slowest, background, kept)
	o := Overview{Slowest: lists[1], KeptRequests: newKeptRows(lists[3], kept)}
	o.Requests = ofClass(local.Request, lists[0], newest)
	o.Streams = ofClass(local.Stream, lists[0], newest)
	o.Inner = ofClass(local.Inner, lists[0], newest)
	o.Background = ofClass(local.Background, lists[2], background)
	o.Housekeeping = ofClass(local.Housekeeping, lists[2], background)
	o.Service = serviceOf(slices.Concat(newest, background))
	return o
}

// A SearchAnswer lists the requests that match a query.
type SearchAnswer struct {
	Requests []keptRow `json:"requests"` // the newest first
	More     bool      `json:"more"`     // further requests match
	InMemory int       `json:"inMemory"` // all in memory that have the classes of the query
}

// NewSearchAnswer returns the answer to a search. found contains the requests that match. more and
// inMemory are the values of the fields More and InMemory.
func NewSearchAnswer(found []requests.Snapshot, more bool, inMemory int) SearchAnswer {
	return SearchAnswer{newKeptRows(newRequestRows(found), found), more, inMemory}
}

func newKeptRows(rows []requestRow, all []requests.Snapshot) []keptRow {
	kept := make([]keptRow, 0, len(rows))
	for i, row := range rows {
		kept = append(kept, keptRow{row, all[i].Keep.String()})
	}
	return kept
}

// newestFirst sorts requests by their ends. The order of arrival can differ, since each processor
// delivers its own requests.
func newestFirst(all []requests.Snapshot) {
	slices.SortStableFunc(all, func(a, b requests.Snapshot) int { return b.End.Compare(a.End) })
}

// serviceOf returns the service.name of the first request, or "" without requests.
func serviceOf(all []requests.Snapshot) string {
	if len(all) == 0 {
		return ""
	}
	name, _ := all[0].RootSpan().Group.Resource().Set().Value("service.name")
	return Shown(name.AsString())
}

// ofClass returns the rows of the requests of a class.
func ofClass(c local.Class, rows []requestRow, all []requests.Snapshot) []requestRow {
	list := []requestRow{}
	for i, row := range rows {
		if all[i].Class == c {
			list = append(list, row)
		}
	}
	return list
}

// A RowCache stores the rows of the last overview. The next overview reuses the rows, because most
// requests are in both overviews.
type RowCache struct {
	mu   sync.Mutex // guards last
	last map[local.ID]requestRow
}

func (c *RowCache) rows(lists ...[]requests.Snapshot) [][]requestRow {
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
		Trace: root.TraceID.String(), Span: root.SpanID.String(),
		Name:   Shown(requests.Row{Span: root}.Name()),
		Status: Shown(requests.ProtocolStatus(root)), Failed: root.Status.Code == codes.Error,
		Start: SinceEpoch(root.Start), Took: ms(root.Duration()),
	}
}

// SinceEpoch returns the time from the epoch of Unix to t in milliseconds.
func SinceEpoch(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

// ms returns d in milliseconds.
func ms(d time.Duration) float64 { return record.Milliseconds(d) }
