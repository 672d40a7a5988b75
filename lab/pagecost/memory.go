package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/lab/internal/figures"
)

// rows is how many moments the table of memory has.
const rows = 6

// memory keeps the page open, and prints how much memory the shop and the page have at regular
// moments.
func (b *bench) memory(ctx context.Context, o options, w io.Writer) error {
	if err := b.open(); err != nil {
		return err
	}
	fmt.Fprintln(w, "| page open for | requests answered | memory of the shop's process, MB | memory of the page's JavaScript, MB | elements of the page |\n|---|---:|---:|---:|---:|")
	began, total := time.Now(), 0
	var shop []float64 // megabytes
	for i := range rows + 1 {
		moment := began.Add(o.open * time.Duration(i) / rows)
		for left := time.Until(moment); left > 0; left = time.Until(moment) {
			// the loads hold on to latencies until they are taken
			if err := pause(ctx, min(left, time.Minute)); err != nil {
				return err
			}
			n, err := b.answered()
			if err != nil {
				return err
			}
			total += n
		}
		process, err := backend.ProcessMemory(b.shop.PID())
		if err != nil {
			return err
		}
		shop = append(shop, mega(process))
		page, err := b.page.Memory()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %v | %d | %.1f | %.1f | %d |\n", time.Since(began).Round(time.Second),
			total, mega(process), mega(page.JavaScript), page.Elements)
	}
	fmt.Fprintln(w)
	if err := figures.Add(o.figures,
		"memory of the shop's process with the page open: first, most, last", "",
		fmt.Sprintf("%.0f, %.0f, %.0f MB", shop[0], slices.Max(shop), shop[len(shop)-1]),
		nil); err != nil {
		return err
	}
	return b.shut()
}

func mega(bytes uint64) float64 { return float64(bytes) / 1e6 }

// middle returns the median of values, and the bounds of their middle half.
func middle(values []float64) (median, low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	return load.Quantile(sorted, 0.5), load.Quantile(sorted, 0.25), load.Quantile(sorted, 0.75)
}
