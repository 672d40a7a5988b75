package routes_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

func BenchmarkAdd(b *testing.B) {
	table := routes.NewTable(routes.Config{})
	names := make([]string, 16)
	for i := range names {
		names[i] = fmt.Sprintf("GET /api/items/{id}/part/%d", i)
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		root := ended(names[0], time.Now(), 0)
		for i := range b.N {
			root.Start = root.End.Add(-time.Duration(i%1000) * time.Microsecond)
			table.Add(root)
		}
	})
	b.Run("sixteen", func(b *testing.B) {
		b.ReportAllocs()
		end := time.Now()
		for i := range b.N {
			table.Add(ended(names[i%len(names)], end, time.Duration(i%1000)*time.Microsecond))
		}
	})
	b.Run("others", func(b *testing.B) {
		full := routes.NewTable(routes.Config{MaxRoutes: 1})
		full.Add(ended("GET /", time.Now(), 0))
		root := ended(names[0], time.Now(), time.Millisecond)
		for b.Loop() {
			full.Add(root)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		end := time.Now()
		b.RunParallel(func(p *testing.PB) {
			root := ended(names[0], end, time.Millisecond)
			for p.Next() {
				table.Add(root)
			}
		})
	})
}

// The tables that are read have all routes and all columns.
func BenchmarkRead(b *testing.B) {
	table := routes.NewTable(routes.Config{})
	end := time.Now()
	for i := range 200 * 1000 {
		table.Add(ended(fmt.Sprintf("GET /%d", i%200), end, time.Duration(i)*time.Microsecond))
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
			table.HeatMap("GET /1", local.Request, routes.SinceStart)
		}
	})
}
