package routes_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// A model has all requests one by one.
type model struct {
	max   int
	start time.Time
	all   map[key][]modelRequest
}

type key struct {
	name  string
	class local.Class
}

type modelRequest struct {
	end    time.Time // not after its Add, and not before the start
	took   time.Duration
	failed bool
}

func newModel(most int) *model {
	return &model{max: most, start: time.Now(), all: map[key][]modelRequest{}}
}

func (m *model) add(root local.Root) {
	k := key{root.Name, root.Class}
	if m.all[k] == nil && m.routes(root.Class) >= m.max {
		k.name = routes.Others
	}
	end := root.End
	if now := time.Now(); end.After(now) {
		end = now
	}
	if end.Before(m.start) {
		end = m.start
	}
	m.all[k] = append(m.all[k], modelRequest{end, root.Took(), root.Failed})
}

// routes returns how many routes of a class have a name of their own.
func (m *model) routes(class local.Class) (n int) {
	for k := range m.all {
		if k.class == class && k.name != routes.Others {
			n++
		}
	}
	return n
}

const step = 10 * time.Second

// windowStart returns when the first column of a window begins.
func (m *model) windowStart(w routes.Window) time.Time {
	first := m.start.Truncate(step)
	if minutes := time.Now().Truncate(step).Add(-29 * step); w == routes.LastMinutes && minutes.After(first) {
		return minutes
	}
	return first
}

// within returns the requests of a window.
func (m *model) within(k key, w routes.Window) (all []modelRequest) {
	for _, q := range m.all[k] {
		if !q.end.Before(m.windowStart(w)) {
			all = append(all, q)
		}
	}
	return all
}

func (m *model) compare(t *testing.T, table *routes.Table, w routes.Window) {
	t.Helper()
	report := table.Summaries(w)
	start := m.windowStart(w)
	if start.Before(m.start) {
		start = m.start
	}
	if !report.Start.Equal(start) || !report.End.Equal(time.Now()) {
		t.Fatalf("the report is from %v to %v, want from %v to %v", report.Start, report.End, start, time.Now())
	}
	sorted := slices.IsSortedFunc(report.Routes, func(a, b routes.Summary) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Route, b.Route))
	})
	if !sorted {
		t.Fatalf("the routes are not sorted: %+v", report.Routes)
	}
	seen := 0
	for k := range m.all {
		want := m.within(k, w)
		i := slices.IndexFunc(report.Routes, func(s routes.Summary) bool { return s.Route == k.name && s.Class == k.class })
		switch {
		case i < 0 && len(want) > 0:
			t.Fatalf("route %v with %d requests is missing", k, len(want))
		case i >= 0:
			seen++
			compareSummary(t, report.Routes[i], want, report.End.Sub(report.Start))
		}
		m.compareHeat(t, table, k, w)
	}
	if seen != len(report.Routes) {
		t.Fatalf("%d of %d routes are known", seen, len(report.Routes))
	}
	for class := range local.Class(local.Classes) {
		m.compareTotal(t, table, class, w)
	}
}

func compareSummary(t *testing.T, got routes.Summary, want []modelRequest, window time.Duration) {
	t.Helper()
	var took []time.Duration
	failed := 0
	for _, q := range want {
		took = append(took, q.took)
		if q.failed {
			failed++
		}
	}
	slices.Sort(took)
	rate := 0.0
	if window > 0 {
		rate = float64(len(want)) / window.Seconds()
	}
	if got.Count != uint64(len(want)) || got.Failed != uint64(failed) || got.Max != took[len(took)-1] || math.Abs(got.PerSecond-rate) > 1e-9 {
		t.Fatalf("%+v, want %d requests, %d failed, %v at most, %v each second", got, len(want), failed, took[len(took)-1], rate)
	}
	for _, q := range []struct {
		share float64
		got   time.Duration
	}{{0.50, got.P50}, {0.95, got.P95}, {0.99, got.P99}} {
		exact := took[int(math.Ceil(q.share*float64(len(took))))-1]
		if off := (q.got - exact).Abs(); off > max(exact/4, time.Microsecond) || q.got > got.Max {
			t.Fatalf("%+v: quantile %v is %v, want %v to a quarter", got, q.share, q.got, exact)
		}
	}
}

// compareHeat compares the cells of a heat map.
func (m *model) compareHeat(t *testing.T, table *routes.Table, k key, w routes.Window) {
	t.Helper()
	got, ok := table.HeatMap(k.name, k.class, w)
	if !ok {
		t.Fatalf("route %v has no heat map", k)
	}
	wantStep, first := step, m.windowStart(w)
	for w == routes.SinceStart && time.Since(first)/wantStep >= 60 {
		wantStep *= 2
	}
	if columns := int(time.Since(first)/wantStep) + 1; !got.Start.Equal(first) || got.Step != wantStep || len(got.Columns) != columns {
		t.Fatalf("%d columns of %v from %v, want %d of %v from %v", len(got.Columns), got.Step, got.Start, columns, wantStep, first)
	}
	rows := max(0, len(got.Bounds)-1)
	want := make([]routes.Column, len(got.Columns))
	for i := range want {
		want[i].Counts = make([]uint64, rows)
	}
	cells := map[routes.Cell]uint64{}
	for _, q := range m.within(k, w) {
		column := &want[q.end.Sub(first)/wantStep]
		at, exact := slices.BinarySearch(got.Bounds, q.took)
		if !exact {
			at--
		}
		if at < 0 || at >= rows {
			t.Fatalf("a request of %v is not within the bounds %v", q.took, got.Bounds)
		}
		column.Counts[at]++
		if q.failed {
			column.Failed++
		}
		cells[routes.CellOf(q.end, q.took)]++
	}
	var counts []uint64
	for i := range want {
		if !slices.Equal(got.Columns[i].Counts, want[i].Counts) || got.Columns[i].Failed != want[i].Failed {
			t.Fatalf("route %v, column %d with the bounds %v: %+v, want %+v", k, i, got.Bounds, got.Columns[i], want[i])
		}
		counts = append(counts, got.Columns[i].Counts...)
	}
	if w == routes.LastMinutes {
		compareCells(t, counts, cells)
	}
}

// compareCells compares the counts of a heat map with requests that are counted by cells.
func compareCells(t *testing.T, counts []uint64, cells map[routes.Cell]uint64) {
	t.Helper()
	counts = slices.DeleteFunc(counts, func(n uint64) bool { return n == 0 })
	slices.Sort(counts)
	var want []uint64
	for _, n := range cells {
		want = append(want, n)
	}
	slices.Sort(want)
	if !slices.Equal(counts, want) {
		t.Fatalf("the heat map has cells with %d requests, and CellOf gives %d", counts, want)
	}
}

// ended returns the end of a request.
func ended(name string, end time.Time, took time.Duration) local.Root {
	return local.Root{Name: name, Start: end.Add(-took), End: end}
}

// randomRoot returns a local root that ended at any time, mostly now.
func randomRoot(r *rand.Rand, start time.Time) local.Root {
	end, took := time.Now(), time.Duration(math.Exp(r.Float64()*math.Log(float64(time.Hour))))
	switch r.IntN(8) {
	case 0:
		end = end.Add(-time.Duration(r.Int64N(int64(20 * step))))
	case 1:
		end = start.Add(time.Duration(r.Float64() * float64(time.Since(start))))
	case 2:
		end = end.Add(time.Duration(r.Int64N(int64(24 * time.Hour))))
	case 3:
		end = start.Add(-time.Duration(r.Int64N(int64(time.Hour))))
	}
	if r.IntN(2) == 0 {
		end = end.Round(0)
	}
	root := ended(fmt.Sprint("GET /", r.IntN(6)), end, took)
	root.Class, root.Failed = local.Class(r.IntN(local.Classes)), r.IntN(4) == 0
	return root
}

// A table counts as a list of all requests does, at any time.
func TestTableIsAsTheModel(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				time.Sleep(time.Duration(r.Int64N(int64(step))))
				most := 1 + r.IntN(8)
				table, m := routes.NewTable(routes.Config{MaxRoutes: most}), newModel(most)
				pause := []time.Duration{time.Millisecond, time.Second, step, 10 * time.Minute}[r.IntN(4)]
				for range 200 {
					root := randomRoot(r, m.start)
					table.Add(root)
					m.add(root)
					if r.IntN(3) == 0 {
						time.Sleep(time.Duration(r.Int64N(int64(pause))))
					}
					if r.IntN(10) == 0 {
						m.compare(t, table, routes.Window(r.IntN(2)))
					}
				}
				m.compare(t, table, routes.SinceStart)
				m.compare(t, table, routes.LastMinutes)
				time.Sleep(5*time.Minute + step)
				m.compare(t, table, routes.LastMinutes)
			})
		})
	}
}
