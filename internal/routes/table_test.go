package routes_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// names returns the routes of a table.
func names(table *routes.Table) (all []string) {
	for _, s := range table.Summaries(routes.SinceStart).Routes {
		all = append(all, s.Route)
	}
	slices.Sort(all)
	return all
}

func TestNames(t *testing.T) {
	long, accents := strings.Repeat("x", 300), strings.Repeat("é", 200)
	for _, c := range []struct {
		name  string
		added []string
		want  []string
	}{
		{"none", []string{""}, []string{""}},
		{"twice", []string{"GET /", "GET /"}, []string{"GET /"}},
		{"cut", []string{long, long[:299] + "y"}, []string{long[:256]}},
		{"not within a letter", []string{"x" + accents}, []string{"x" + accents[:254]}},
		{"continuations of nothing", []string{strings.Repeat("\x80", 300)}, []string{"\uFFFD"}},
		{"not UTF-8", []string{"a\xff", "a\uFFFD", "a\xfe"}, []string{"a\uFFFD"}},
		{"not UTF-8, and cut", []string{strings.Repeat("a\xff", 200)}, []string{strings.Repeat("a\uFFFD", 64)}},
		{"over the limit", []string{"1", "2", "3", "4", "5", "1"}, []string{"1", "2", "3", routes.Others}},
		{"as the others", []string{routes.Others, "1", "2", "3"}, []string{"1", "2", "3", routes.Others}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := routes.NewTable(routes.Config{MaxRoutes: 3})
			for _, name := range c.added {
				table.Add(ended(name, time.Now(), 0))
			}
			if got := names(table); !slices.Equal(got, c.want) {
				t.Errorf("the routes are %q, want %q", got, c.want)
			}
			for _, name := range append(c.want, c.added[0]) {
				if m, ok := table.HeatMap(name, local.Request, routes.SinceStart); !ok || len(m.Bounds) == 0 {
					t.Errorf("route %q has no heat map", name)
				}
			}
		})
	}
}

// Each class has room of its own.
func TestClassesAreApart(t *testing.T) {
	table := routes.NewTable(routes.Config{MaxRoutes: 1})
	for _, class := range []local.Class{local.Request, local.Stream, local.Inner, local.Background, local.Housekeeping, 99} {
		root := ended(class.String(), time.Now(), 0)
		root.Class = class
		table.Add(root)
	}
	if got, want := names(table), []string{"background", "housekeeping", "inner", "request", "stream"}; !slices.Equal(got, want) {
		t.Errorf("the routes are %q, want %q", got, want)
	}
	for _, class := range []local.Class{local.Stream, 99} {
		if _, ok := table.HeatMap("request", class, routes.SinceStart); ok {
			t.Errorf("a request has a heat map as %v", class)
		}
	}
}

// A reader sees each root that a function of OnRead brings.
func TestReadersBringInWhatHasEnded(t *testing.T) {
	for name, read := range map[string]func(*routes.Table) uint64{
		"Summaries": func(table *routes.Table) (n uint64) {
			for _, s := range table.Summaries(routes.SinceStart).Routes {
				n += s.Count
			}
			return n
		},
		"Total": func(table *routes.Table) uint64 {
			s, _ := table.Total(local.Request, routes.SinceStart)
			return s.Count
		},
		"Lines": func(table *routes.Table) (n uint64) {
			for _, c := range table.Lines(local.Request, routes.SinceStart)["GET /"] {
				n += c.Count
			}
			return n
		},
		"Names": func(table *routes.Table) uint64 { return uint64(len(table.Names(local.Request)) - 1) }, // without the others
		"HeatMap": func(table *routes.Table) (n uint64) {
			m, _ := table.HeatMap("GET /", local.Request, routes.SinceStart)
			for _, c := range m.Columns {
				for _, count := range c.Counts {
					n += count
				}
			}
			return n
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := routes.NewTable(routes.Config{})
			waiting := 1
			table.OnRead(func() {
				for ; waiting > 0; waiting-- {
					table.Add(ended("GET /", time.Now(), time.Millisecond))
				}
			})
			if n := read(table); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// The table copies names, which may be in memory that is used again.
func TestTableCopiesNames(t *testing.T) {
	table := routes.NewTable(routes.Config{})
	memory := []byte("GET /")
	table.Add(ended(unsafe.String(&memory[0], len(memory)), time.Now(), 0))
	copy(memory, "other")
	if got := names(table); !slices.Equal(got, []string{"GET /"}) {
		t.Errorf("the routes are %q, want the name as it was", got)
	}
}

// Durations of any length have a row, and all quantiles of one request are its duration.
func TestExtremeDurations(t *testing.T) {
	for _, took := range []time.Duration{-time.Second, 0, 1, time.Microsecond - 1, time.Microsecond, 70 * time.Minute, 1<<63 - 1} {
		table := routes.NewTable(routes.Config{})
		table.Add(ended("GET /", time.Now(), took))
		s := table.Summaries(routes.LastMinutes).Routes[0]
		if want := max(0, took); s.Max != want || s.P50 != want || s.P95 != want || s.P99 != want {
			t.Errorf("after a request of %v, the figures are %+v", took, s)
		}
		m, _ := table.HeatMap("GET /", local.Request, routes.LastMinutes)
		if len(m.Bounds) != 2 || m.Bounds[0] > max(0, took) || m.Bounds[1] <= m.Bounds[0] || m.Bounds[1] <= took && took < time.Hour {
			t.Errorf("after a request of %v, the bounds are %v", took, m.Bounds)
		}
	}
}

// A heat map without requests has no rows.
func TestQuietHeatMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := routes.NewTable(routes.Config{})
		table.Add(ended("GET /", time.Now(), 0))
		time.Sleep(time.Hour)
		m, ok := table.HeatMap("GET /", local.Request, routes.LastMinutes)
		if !ok || len(m.Bounds) > 0 || len(m.Columns) != 30 || len(m.Columns[0].Counts) > 0 {
			t.Errorf("%t, %+v: want 30 columns and no row", ok, m)
		}
		if r := table.Summaries(routes.LastMinutes); len(r.Routes) > 0 {
			t.Errorf("the last minutes have %+v, want nothing", r.Routes)
		}
	})
}

// Columns that are full merge, and their memory is used again.
func TestAddAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := routes.NewTable(routes.Config{})
		add := func(late time.Duration) {
			for i := range 20 {
				table.Add(ended("GET /items/{id}", time.Now().Add(-late), time.Duration(i)*time.Millisecond))
			}
		}
		for range 200 {
			add(0)
			time.Sleep(step)
		}
		for _, late := range []time.Duration{0, time.Minute, 20 * time.Minute} {
			if n := testing.AllocsPerRun(100, func() { add(late) }); n > 0 {
				t.Errorf("requests that ended %v ago allocate %v times, want none", late, n)
			}
		}
		full := routes.NewTable(routes.Config{MaxRoutes: -1})
		if n := testing.AllocsPerRun(100, func() { full.Add(ended("GET /", time.Now(), 0)) }); n > 0 {
			t.Errorf("a request without a route of its own allocates %v times, want none", n)
		}
	})
}

// Each request counts once, also when goroutines add the first ones of many routes at once, and others read.
func TestConcurrentAdds(t *testing.T) {
	const goroutines, each, names = 8, 2000, 40
	table := routes.NewTable(routes.Config{MaxRoutes: 30})
	var adding, reading sync.WaitGroup
	done := make(chan struct{})
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				table.Summaries(routes.LastMinutes)
				table.HeatMap("GET /1", local.Request, routes.SinceStart)
			}
		}
	})
	for g := range goroutines {
		adding.Go(func() {
			for i := range each {
				end := time.Now().Add(-time.Duration(i%40) * step / 2)
				root := ended(fmt.Sprint("GET /", (g+i)%names), end, time.Duration(i)*time.Microsecond)
				root.Failed = i%2 == 0
				table.Add(root)
			}
		})
	}
	adding.Wait()
	close(done)
	reading.Wait()
	var count, failed, others uint64
	all := table.Summaries(routes.SinceStart).Routes
	for _, s := range all {
		count, failed = count+s.Count, failed+s.Failed
		if s.Route == routes.Others {
			others = s.Count
		}
	}
	if count != goroutines*each || failed != goroutines*each/2 {
		t.Errorf("%d requests and %d failed, want %d and %d", count, failed, goroutines*each, goroutines*each/2)
	}
	if len(all) != 31 || others != goroutines*each/names*10 {
		t.Errorf("%d routes, and %d requests of other routes, want 31, and a quarter of the requests", len(all), others)
	}
}

// A negative time in the cell belongs to the ten seconds before.
func TestCellOf(t *testing.T) {
	epoch := time.Unix(0, 0)
	for _, c := range []struct {
		end  time.Duration
		took time.Duration
		want routes.Cell
	}{
		{0, 0, routes.Cell{}},
		{step - 1, 999, routes.Cell{}},
		{step, time.Microsecond, routes.Cell{Column: 1, Row: 1}},
		{-1, 1499, routes.Cell{Column: -1, Row: 1}},
		{-step, 1500, routes.Cell{Column: -1, Row: 2}},
		{-step - 1, 2000, routes.Cell{Column: -2, Row: 3}},
		{0, 1024 * time.Microsecond, routes.Cell{Row: 21}},
	} {
		if got := routes.CellOf(epoch.Add(c.end), c.took); got != c.want {
			t.Errorf("a request that ended at %v after %v is in %+v, want %+v", c.end, c.took, got, c.want)
		}
	}
}
