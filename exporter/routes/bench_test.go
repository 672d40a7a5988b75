package routes_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perfline/perfline/exporter/routes"
)

func BenchmarkAdd(b *testing.B) {
	table := routes.NewTable(routes.Config{})
	names := make([]string, 16)
	for i := range names {
		names[i] = fmt.Sprintf("GET /api/items/{id}/part/%d", i)
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		e := routes.Ended{Route: names[0], End: time.Now()}
		for i := range b.N {
			e.Took = time.Duration(i%1000) * time.Microsecond
			table.Add(e)
		}
	})
	b.Run("sixteen", func(b *testing.B) {
		b.ReportAllocs()
		e := routes.Ended{End: time.Now()}
		for i := range b.N {
			e.Route, e.Took = names[i%len(names)], time.Duration(i%1000)*time.Microsecond
			table.Add(e)
		}
	})
	b.Run("others", func(b *testing.B) {
		full := routes.NewTable(routes.Config{MaxRoutes: 1})
		full.Add(routes.Ended{Route: "GET /", End: time.Now()})
		e := routes.Ended{Route: names[0], End: time.Now(), Took: time.Millisecond}
		for b.Loop() {
			full.Add(e)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		end := time.Now()
		b.RunParallel(func(p *testing.PB) {
			e := routes.Ended{Route: names[0], End: end, Took: time.Millisecond}
			for p.Next() {
				table.Add(e)
			}
		})
	})
}

// The tables that are read have all routes and all columns.
func BenchmarkRead(b *testing.B) {
	table := routes.NewTable(routes.Config{})
	end := time.Now()
	for i := range 200 * 1000 {
		table.Add(routes.Ended{Route: fmt.Sprintf("GET /%d", i%200), End: end, Took: time.Duration(i) * time.Microsecond})
	}
	b.Run("summaries", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			table.Summaries(routes.LastMinutes)
		}
	})
	b.Run("heat map", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			table.HeatMap("GET /1", routes.Request, routes.SinceStart)
		}
	})
}
