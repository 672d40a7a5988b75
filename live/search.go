package live

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
)

const maxFound = 200 // requests in an answer

// A searchAnswer has the requests that a query describes.
type searchAnswer struct {
	Requests []keptRow `json:"requests"` // the newest first
	More     bool      `json:"more"`     // others match, too
	InMemory int       `json:"inMemory"` // requests of the class, of which the query found these
}

// A fieldError is an error in a field of the form.
type fieldError struct {
	Field string `json:"field"`
	Error string `json:"error"`
}

func (h *handler) search(w http.ResponseWriter, r *http.Request) {
	q, wrong := parseQuery(r.URL.Query())
	if wrong != nil {
		w.Header().Set("Content-Type", jsonType)
		w.WriteHeader(http.StatusBadRequest)
		answer(w, wrong)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if headOnly(w, r) {
		return
	}
	if q.Route != "" {
		classes := q.Classes
		if classes == nil {
			classes = []local.Class{local.Request, local.Stream}
		}
		q.Route = h.routeNamed(q.Route, classes...)
	}
	done, ok := h.working(w, r)
	if !ok {
		return
	}
	defer done()
	answer(w, h.found(q))
}

// found searches in memory and in what pages listed and opened.
func (h *handler) found(q requests.Query) searchAnswer {
	inMemory, listed, opened := h.recent().All(), h.listed.All(), h.opened.All()
	q.Limit = maxFound + 1
	found := requests.Search(q, inMemory, listed, opened)
	all := requests.Query{Classes: q.Classes, Limit: math.MaxInt}
	a := searchAnswer{More: len(found) > maxFound,
		InMemory: len(requests.Search(all, inMemory, listed, opened))}
	found = found[:min(len(found), maxFound)]
	h.listed.AddNew(found)
	a.Requests = make([]keptRow, 0, len(found))
	for _, s := range found {
		root := s.RootSpan()
		a.Requests = append(a.Requests, keptRow{newRequestRow(&root), s.Keep.String()})
	}
	return a
}

// parseQuery reads a query from the parameters of an address.
func parseQuery(p url.Values) (q requests.Query, wrong *fieldError) {
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
			return q, &fieldError{f.name, err.Error()}
		}
	}
	return q, nil
}

// parseDuration reads a duration with a unit, which a space may precede.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		return 0, fmt.Errorf(
			"duration %q: must be a number with a unit, such as 250us, 5 ms or 1.5s", shown(s))
	}
	return d, nil
}

// parseTime reads milliseconds since the Unix epoch.
func parseTime(s string) (time.Time, error) {
	ms, err := strconv.ParseFloat(s, 64)
	if valid := ms >= 0 && ms <= 1e14; err != nil || !valid { // NaN is not valid
		return time.Time{}, fmt.Errorf("time %q: must be milliseconds since 1970", shown(s))
	}
	return time.UnixMicro(int64(math.Round(ms * 1000))), nil
}

func parseClass(s string) (local.Class, error) {
	for c := range local.Class(local.Classes) {
		if s == c.Plural() {
			return c, nil
		}
	}
	return 0, fmt.Errorf("class %q: must be requests, streams, background or housekeeping",
		shown(s))
}
