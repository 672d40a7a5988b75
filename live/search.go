package live

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live/internal/view"
)

const maxFound = 200 // requests in an answer

func (h *handler) search(r *http.Request) (builder[view.SearchAnswer], error) {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		return nil, err
	}
	return func(context.Context) (view.SearchAnswer, error) {
		if q.Route != "" {
			classes := q.Classes
			if classes == nil {
				classes = []local.Class{local.Request, local.Stream, local.Inner}
			}
			q.Route = h.routeNamed(q.Route, classes...)
		}
		return h.found(q), nil
	}, nil
}

// found searches the requests in memory, and the requests that pages listed or opened.
func (h *handler) found(q requests.Query) view.SearchAnswer {
	inMemory, listed, opened := h.recent().All(), h.listed.All(), h.opened.All()
	q.Limit = maxFound + 1
	found := requests.Search(q, inMemory, listed, opened)
	all := requests.Query{Classes: q.Classes, Limit: math.MaxInt}
	more := len(found) > maxFound
	found = found[:min(len(found), maxFound)]
	a := view.NewSearchAnswer(found, more, len(requests.Search(all, inMemory, listed, opened)))
	h.listed.AddNew(found)
	return a
}

// parseQuery parses a query. The error is a refusal with the name of the wrong parameter.
func parseQuery(p url.Values) (q requests.Query, err error) {
	for _, f := range []struct {
		name string
		set  func(value string) error
	}{
		{"route", func(v string) error { q.Route = v; return nil }},
		{"status", func(v string) error { q.Status = v; return nil }},
		{"min", func(v string) (err error) { q.MinTook, err = parseDuration(v); return err }},
		{"max", func(v string) (err error) { q.MaxTook, err = parseDuration(v); return err }},
		{"from", func(v string) (err error) { q.From, err = parseTime(v); return err }},
		{"to", func(v string) (err error) { q.To, err = parseTime(v); return err }},
		{"attribute", func(v string) error { q.Attribute = v; return nil }},
		{"text", func(v string) error { q.Text = v; return nil }},
		{"class", func(v string) error {
			class, err := parseClass(v)
			q.Classes = []local.Class{class}
			return err
		}},
	} {
		value := strings.TrimSpace(p.Get(f.name))
		if value == "" {
			continue
		}
		if err := cmp.Or(f.set(value), q.Check()); err != nil {
			return q, &refusal{err, http.StatusBadRequest, f.name}
		}
	}
	return q, nil
}

// parseDuration parses a duration with a unit, and ignores spaces.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		return 0, fmt.Errorf(
			"duration %q: must be a number with a unit, such as 250us, 5 ms or 1.5s", view.Shown(s))
	}
	return d, nil
}

// parseTime parses milliseconds since the epoch of Unix.
func parseTime(s string) (time.Time, error) {
	ms, err := strconv.ParseFloat(s, 64)
	if err != nil || !(0 <= ms && ms <= 1e14) { // also NaN
		return time.Time{}, fmt.Errorf("time %q: must be milliseconds since 1970", view.Shown(s))
	}
	return time.UnixMicro(int64(math.Round(ms * 1000))), nil
}

func parseClass(s string) (local.Class, error) {
	for c := range local.Class(local.Classes) {
		if s == c.Plural() {
			return c, nil
		}
	}
	return 0, fmt.Errorf("class %q: must be requests, streams, inner, background or housekeeping",
		view.Shown(s))
}
