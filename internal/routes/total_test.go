package routes_test

import (
	"testing"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// compareTotal compares the total of a class with its requests, and with the lines and the heat maps of its routes.
func (m *model) compareTotal(t *testing.T, table *routes.Table, class local.Class, w routes.Window) {
	t.Helper()
	var want []modelRequest
	for k := range m.all {
		if k.class == class {
			want = append(want, m.within(k, w)...)
		}
	}
	got, heat := table.Total(class, w)
	start := m.windowStart(w)
	if start.Before(m.start) {
		start = m.start
	}
	if len(want) > 0 {
		compareSummary(t, got, want, time.Since(start))
	} else if got.Count != 0 {
		t.Fatalf("the total is %+v, want none", got)
	}
	sums := make(routes.Line, len(heat.Columns))
	for name, line := range table.Lines(class, w) {
		if len(line) != len(sums) {
			t.Fatalf("%s has a line of %d columns, want %d", name, len(line), len(sums))
		}
		one, _ := table.HeatMap(name, class, w)
		for i, c := range line {
			sums[i].Count += c.Count
			sums[i].Failed += c.Failed
			if same := of(one.Columns[i]); c != same {
				t.Fatalf("column %d of the line of %s is %+v, want %+v as in its heat map", i, name, c, same)
			}
		}
	}
	for i, column := range heat.Columns {
		if got := of(column); got != sums[i] {
			t.Fatalf("column %d of the total is %+v, want %+v as the lines have together", i, got, sums[i])
		}
	}
}

// of counts the requests of a column.
func of(c routes.Column) (sum routes.LineColumn) {
	sum.Failed = c.Failed
	for _, n := range c.Counts {
		sum.Count += n
	}
	return sum
}
