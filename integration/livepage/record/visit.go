package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/perfline/perfline/integration/livepage"
)

// visit records what the views ask for.
func (r *recorder) visit() error {
	var o overview
	if err := r.get("data/v1/overview", &o); err != nil {
		return err
	}
	if err := r.chooseSampled(o); err != nil {
		return err
	}
	return errors.Join(r.visitOverview(), r.visitRequests(o), r.visitComparisons(),
		r.visitProfiles(), r.visitSession())
}

func (r *recorder) visitOverview() error {
	return errors.Join(
		r.get("data/v1/runtime", nil),
		r.get("data/v1/routes?window=start", nil),
		r.get("data/v1/routes/heat?route=&class=requests&window=minutes", nil),
		r.get("data/v1/routes/heat?route=POST+%2Forders&class=requests&window=minutes", nil),
	)
}

func (r *recorder) visitRequests(o overview) error {
	var orders struct{ Requests []row }
	if err := r.get("data/v1/requests?route=POST+%2Forders", &orders); err != nil {
		return err
	}
	if len(orders.Requests) == 0 {
		return errors.New("no order is in memory: record again")
	}
	for _, ids := range []string{o.Requests.Slowest[0].ids(), o.Requests.Slowest[1].ids(),
		orders.Requests[0].ids(), r.sampled, r.waited} {
		if err := r.visitRequest(ids); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) visitRequest(ids string) error {
	var detail struct {
		Session int
		Took    float64
		Waits   any
	}
	if err := r.get("data/v1/requests/"+ids, &detail); err != nil {
		return err
	}
	if detail.Waits != nil {
		if err := r.get(fmt.Sprintf("data/v1/requests/%s/waits?columns=100&from=0&to=%g", ids,
			detail.Took/2), nil); err != nil {
			return err
		}
	}
	if detail.Session == 0 {
		return nil
	}
	trace, span, _ := strings.Cut(ids, "/")
	return errors.Join(
		r.get("data/v1/requests/"+ids+"/samples", nil),
		r.get("data/v1/profile/flame?"+
			query("session", strconv.Itoa(detail.Session), "trace", trace, "span", span), nil),
	)
}

// visitComparisons records a comparison with a usual request, the same with the sides exchanged,
// and another one of the route.
func (r *recorder) visitComparisons() error {
	var c struct {
		A, B    row
		Choices []row
	}
	if err := r.get("data/v1/compare?"+query("a", r.sampled), &c); err != nil {
		return err
	}
	if len(c.Choices) < 2 {
		return errors.New("the route of the request has too few others in memory: record again")
	}
	last := c.Choices[len(c.Choices)-1]
	return errors.Join(
		r.get("data/v1/compare?"+query("a", c.B.ids(), "b", c.A.ids()), nil),
		r.get("data/v1/compare?"+query("a", c.A.ids(), "b", c.B.ids()), nil),
		r.get("data/v1/compare?"+query("a", c.A.ids(), "b", last.ids()), nil),
	)
}

// visitProfiles records the profiles of the session and of its routes, in all tabs.
func (r *recorder) visitProfiles() error {
	var contents struct {
		Routes []struct {
			Route   int
			Name    string
			Samples int
		}
	}
	if err := r.get(fmt.Sprintf("data/v1/sessions/%d", r.session), &contents); err != nil {
		return err
	}
	whole := []string{"session", strconv.Itoa(r.session)}
	var top struct{ Functions []struct{ Name string } }
	if err := errors.Join(r.get("data/v1/profile/flame?"+query(whole...), nil),
		r.get("data/v1/profile/functions?"+query(whole...), &top)); err != nil {
		return err
	}
	for _, f := range []string{"main.addParts", "main.makeIndex", top.Functions[0].Name} {
		if err := r.get("data/v1/profile/sandwich?"+
			query(slices.Concat(whole, []string{"function", f})...), nil); err != nil {
			return err
		}
	}
	for i, route := range contents.Routes {
		of := slices.Concat(whole, []string{"route", strconv.Itoa(route.Route)})
		if i < 3 || route.Name == "GET /search" {
			if err := r.get("data/v1/profile/difference?"+
				query(slices.Concat(whole, []string{"with", source(of...)})...), nil); err != nil {
				return err
			}
		}
		if route.Name != "GET /search" {
			continue
		}
		if err := errors.Join(
			r.get("data/v1/profile/flame?"+query(of...), nil),
			r.get("data/v1/profile/functions?"+query(of...), nil),
			r.get("data/v1/profile/difference?"+
				query(slices.Concat(of, []string{"with", source(whole...)})...), nil)); err != nil {
			return err
		}
	}
	return nil
}

// visitDeaths records the reports on the page of another shop, and the first request of the first
// report.
func (r *recorder) visitDeaths() (err error) {
	after := *r
	if after.shop, err = livepage.StartSuccessor(r.ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, after.shop.Stop()) }()
	var d struct{ Reports []struct{ Requests []row } }
	if err := after.get("data/v1/deaths", &d); err != nil {
		return err
	}
	if len(d.Reports[0].Requests) == 0 {
		return errors.New("no request was open when the shop died: record again")
	}
	return after.visitRequest(d.Reports[0].Requests[0].ids())
}

// visitSession records the timelines of the session, and the events of the first ones.
func (r *recorder) visitSession() error {
	var s struct {
		TimelineList []struct{ TimelineID int }
	}
	if err := r.call("GetSession", fmt.Sprintf(`{"sessionID": %d}`, r.session), &s); err != nil {
		return err
	}
	for _, t := range s.TimelineList[:2] {
		events := fmt.Sprintf(`{"sessionID": %d, "timelineID": %d, "maxDepth": 1, "limit": 200}`,
			r.session, t.TimelineID)
		sums := fmt.Sprintf(
			`{"sessionID": %d, "timelineID": %d, "mode": "MODE_REDUCE_UNIQUE_EVENTS", "limit": 10000}`, r.session, t.TimelineID)
		if err := errors.Join(r.call("GetEvents", events, nil),
			r.call("GetEvents", sums, nil)); err != nil {
			return err
		}
	}
	return nil
}
