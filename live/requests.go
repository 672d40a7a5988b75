package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live/internal/view"
)

var (
	errNoRequest = errors.New(
		"this request is not in memory: newer and slower requests replace others")
	errNoChart = errors.New("no session in memory has samples of this request")
)

func (h *handler) overview() view.Overview {
	recent := h.recent()
	newest, kept := recent.Requests(), recent.KeptRequests()
	o := view.NewOverview(newest, recent.Slowest(), recent.Background(), kept, &h.rows)
	h.listed.AddNew(newest)
	return o
}

func (h *handler) serviceOnly() view.ServiceOnly {
	return view.NewServiceOnly(h.recent().Requests())
}

func (h *handler) request(r *http.Request) (builder[view.RequestDetail], error) {
	s, err := h.snapshot(r.PathValue("trace"), r.PathValue("span"))
	return func(context.Context) (view.RequestDetail, error) {
		h.remember(s)
		return view.NewRequestDetail(h.sampled(h.withWaits(s)), h.has), nil
	}, err
}

func (h *handler) samples(r *http.Request) (builder[view.SampleChart], error) {
	q, err := h.find(r.PathValue("trace"), r.PathValue("span"))
	return func(ctx context.Context) (view.SampleChart, error) {
		sampled := h.sampled(q)
		if sampled.Session == nil {
			return view.SampleChart{}, errNoChart
		}
		return view.NewSampleChart(ctx, sampled)
	}, err
}

func (h *handler) windowWaits(r *http.Request) (builder[view.WindowWaits], error) {
	q, err := h.find(r.PathValue("trace"), r.PathValue("span"))
	if err != nil {
		return nil, err
	}
	from, to, n, err := window(r.URL.Query(), q.Duration())
	return func(context.Context) (view.WindowWaits, error) {
		return view.NewWindowWaits(q, from, to, n, h.has), nil
	}, err
}

// window parses a part of a request of a duration, and the number of columns.
func window(query url.Values, took time.Duration) (from, to time.Duration, columns int, err error) {
	a, aErr := strconv.ParseFloat(query.Get("from"), 64)
	b, bErr := strconv.ParseFloat(query.Get("to"), 64)
	n, nErr := strconv.Atoi(query.Get("columns"))
	most := record.Milliseconds(took)
	switch {
	case aErr != nil || bErr != nil || !(0 <= a && a < b && b <= most): // also NaN
		return 0, 0, 0, badRequest(fmt.Errorf("from and to must be milliseconds since the start "+
			"of the request, 0 ≤ from < to ≤ %s", strconv.FormatFloat(most, 'f', -1, 64)))
	case nErr != nil || n < 1 || n > view.MaxWindowColumns:
		err := fmt.Errorf("columns must be a number from 1 to %d", view.MaxWindowColumns)
		return 0, 0, 0, badRequest(err)
	}
	from = time.Duration(a * float64(time.Millisecond))
	to = min(took, time.Duration(math.Ceil(b*float64(time.Millisecond))))
	return from, max(to, from+1), n, nil
}

func (h *handler) compare(r *http.Request) (builder[view.Comparison], error) {
	query := r.URL.Query()
	a, err := h.parseRequest(query.Get("a"))
	if err != nil {
		return nil, err
	}
	var b requests.Snapshot
	var median time.Duration
	if query.Has("b") {
		b, err = h.parseRequest(query.Get("b"))
	} else {
		var ok bool
		if b, median, ok = lookup.Usual(h.recent(), a); !ok {
			err = errors.New("no other request " + view.Shown(a.Name) +
				" without an error is in memory: send one, and compare again")
		}
	}
	return func(context.Context) (view.Comparison, error) {
		h.remember(b)
		h.remember(a)
		choices := h.choices(a, b)
		h.listed.AddNew(choices[:min(len(choices), view.MaxChoices)])
		whole := func(s requests.Snapshot) view.SampledRequest {
			return h.sampled(h.withWaits(s))
		}
		c := view.NewComparison(whole(a), whole(b), choices)
		c.Chosen, c.Median = query.Has("b"), record.Milliseconds(median)
		return c, nil
	}, err
}

// parseRequest returns the request with the ids of a trace and its root span, joined by a slash.
func (h *handler) parseRequest(ids string) (requests.Snapshot, error) {
	traceID, spanID, _ := strings.Cut(ids, "/")
	if _, err := lookup.ParseID(traceID, spanID); err != nil {
		return requests.Snapshot{},
			fmt.Errorf(`request "%s": must be the ids of a trace and its root span, `+
				"such as 0102030405060708090a0b0c0d0e0f10/0102030405060708", view.Shown(ids))
	}
	return h.snapshot(traceID, spanID)
}

// choices returns the requests of a's route in memory without a and b, the newest first.
func (h *handler) choices(a, b requests.Snapshot) []requests.Snapshot {
	return slices.DeleteFunc(requests.OfRoute(h.recent().All(), a.Name),
		func(s requests.Snapshot) bool { return s.ID() == a.ID() || s.ID() == b.ID() })
}
