package routes_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// fill adds n requests of a duration to a route. A duration at the bound of a bucket is the exact usual duration.
func fill(table *routes.Table, route string, n int, took time.Duration) {
	for range n {
		table.Add(ended(route, time.Now(), took))
	}
}

// The least of a route's thresholds decides. The text says which one does, and what became of the other.
func TestSlowFrom(t *testing.T) {
	const bound = 32768 * time.Microsecond // of a bucket
	own := map[string]time.Duration{"GET /own": 20 * time.Millisecond, "GET /never": -1}
	relative := routes.SlowRule{Fixed: time.Second, Routes: own, Factor: 3, Floor: 50 * time.Millisecond}
	chosen := routes.SlowRule{Fixed: time.Second, Routes: own, Factor: 4}
	for _, c := range []struct {
		name  string
		rule  routes.SlowRule
		route string
		usual time.Duration // of 128 requests; 0 for 127 requests
		want  time.Duration
		text  string
	}{
		{"fixed", routes.SlowRule{Fixed: 300 * time.Millisecond}, "GET /", bound, 300 * time.Millisecond, "slow from 300 ms"},
		{"none", routes.SlowRule{Fixed: -1}, "GET /", bound, -1, "never slow"},
		{"relative", relative, "GET /", bound, 3 * bound, "slow from 98 ms (3 × the usual 33 ms)"},
		{"nothing is usual yet", relative, "GET /", 0, time.Second, "slow from 1.0 s (3 × the usual after 128 requests)"},
		{"the floor", relative, "GET /", bound / 8, 50 * time.Millisecond, "slow from 50 ms (3 × the usual 4.1 ms is less)"},
		{"always slow", relative, "GET /", 32 * bound, time.Second, "slow from 1.0 s (3 × the usual 1.0 s is more)"},
		{"relative alone", routes.SlowRule{Fixed: -1, Factor: 2}, "GET /", bound, 2 * bound, "slow from 66 ms (2 × the usual 33 ms)"},
		{"relative alone, and nothing usual yet", routes.SlowRule{Fixed: -1, Factor: 2}, "GET /", 0, -1, "never slow (2 × the usual after 128 requests)"},
		{"of the route", relative, "GET /own", bound / 8, 20 * time.Millisecond, "slow from 20 ms"},
		{"none for the route", relative, "GET /never", bound, -1, "never slow"},
		{"a chosen factor, no floor", chosen, "GET /", bound / 8, bound / 2, "slow from 16 ms (4 × the usual 4.1 ms)"},
		{"a chosen factor beside the route's", chosen, "GET /own", bound / 8, bound / 2, "slow from 16 ms (4 × the usual 4.1 ms)"},
		{"a chosen factor, more than the route's", chosen, "GET /own", bound, 20 * time.Millisecond, "slow from 20 ms (4 × the usual 33 ms is more)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table := routes.NewTable(routes.Config{})
				table.SetSlowRule(&c.rule)
				if c.usual > 0 {
					fill(table, c.route, 128, c.usual)
				} else {
					fill(table, c.route, 127, time.Millisecond)
				}
				got, ok := table.SlowFrom(local.Request, c.route)
				if !ok || got.From != c.want || got.String() != c.text {
					t.Errorf("%t, %v, %q; want %v, %q", ok, got.From, got.String(), c.want, c.text)
				}
				if c.want >= 0 && (!got.IsReachedBy(c.want) || got.IsReachedBy(c.want-1)) || c.want < 0 && got.IsReachedBy(math.MaxInt64) {
					t.Errorf("%+v judges otherwise", got)
				}
			})
		})
	}
}

// A factor of a very long duration does not overflow.
func TestSlowFromIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := routes.NewTable(routes.Config{})
		table.SetSlowRule(&routes.SlowRule{Fixed: -1, Factor: 1 << 20})
		fill(table, "GET /", 128, math.MaxInt64/8)
		if got, _ := table.SlowFrom(local.Request, "GET /"); got.From != math.MaxInt64 {
			t.Errorf("the threshold is %+v, want the longest duration", got)
		}
	})
}

// Streams and background work have no threshold, and neither has a table without a rule.
func TestSlowFromOfRequestsOnly(t *testing.T) {
	table := routes.NewTable(routes.Config{})
	without, ok := table.SlowFrom(local.Request, "GET /")
	if ok || without.IsReachedBy(math.MaxInt64) {
		t.Errorf("without a rule, the threshold is %+v", without)
	}
	table.SetSlowRule(&routes.SlowRule{Fixed: time.Millisecond})
	for _, class := range []local.Class{local.Stream, local.Background, local.Housekeeping} {
		if got, ok := table.SlowFrom(class, "GET /"); ok || got.IsReachedBy(time.Hour) {
			t.Errorf("%v: the threshold is %+v", class, got)
		}
	}
}

// A route that serves calls from its own process, too, has a threshold for each of the two.
func TestSlowFromOfInnerRequests(t *testing.T) {
	table := routes.NewTable(routes.Config{})
	table.SetSlowRule(&routes.SlowRule{Fixed: time.Minute, Factor: 2})
	took := map[local.Class]time.Duration{local.Request: time.Second, local.Inner: 100 * time.Millisecond}
	at := time.Now()
	for class, d := range took {
		for range 200 {
			table.Add(local.Root{Name: "GET /", Class: class, Start: at, End: at.Add(d)})
		}
	}
	for class, d := range took {
		if got, ok := table.SlowFrom(class, "GET /"); !ok || got.IsReachedBy(d) || !got.IsReachedBy(3*d) {
			t.Errorf("%v: the threshold is %+v, want twice the usual %v", class, got, d)
		}
	}
}

// Routes over the limit have the threshold of all others together.
func TestSlowFromOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := routes.NewTable(routes.Config{MaxRoutes: 1})
		table.SetSlowRule(&routes.SlowRule{Fixed: time.Second, Factor: 2})
		fill(table, "GET /known", 128, 10*time.Millisecond)
		fill(table, "GET /other", 128, 100*time.Millisecond)
		others, _ := table.SlowFrom(local.Request, routes.Others)
		got, _ := table.SlowFrom(local.Request, "GET /unknown")
		if known, _ := table.SlowFrom(local.Request, "GET /known"); got.From != others.From || got.From < 5*known.From {
			t.Errorf("an unknown route is slow from %v, the others from %v, a known route from %v", got.From, others.From, known.From)
		}
	})
}
