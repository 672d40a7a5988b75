package repository_test

import (
	"fmt"
	"strings"
	"testing"
)

// Other documents show rows of the runs that docs/benchmarks.md has whole.
func TestDocumentedCosts(t *testing.T) {
	atRoot(t)
	const (
		request   = "**HTTP request, 3 marks and 2 measures with 2 attributes each"
		none      = "none"
		reference = "otelhttp + SDK + otlptracegrpc"
		exporter  = "otelhttp + SDK + our exporter"
		start     = "perfline.Start + middleware"
	)
	all := string(read(t, "docs/benchmarks.md"))
	for _, c := range []struct {
		document, part string
		tables         []string
	}{
		{"README.md", "costs", []string{
			excerpt(t, all, request+", flat out**", none, reference, exporter, start),
			fmt.Sprintf("In one process, without the network, perfline.Start adds %s × as much CPU time as the reference, and our exporter %s ×.\n",
				ratio(t, excerpt(t, all, request+"**", start)), ratio(t, excerpt(t, all, request+"**", exporter))),
		}},
		{"docs/exporter.md", "judge", []string{
			excerpt(t, all, request+"**", reference, exporter),
			excerpt(t, all, request+", flat out**", reference, exporter),
		}},
	} {
		documented(t, c.document, c.part, "\n"+strings.Join(c.tables, "\n"))
	}
}

// ratio returns how many times the reference's CPU time the last row of a table adds.
func ratio(t *testing.T, table string) string {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(table), "\n")
	cells := strings.Split(rows[len(rows)-1], " | ")
	if len(cells) < 4 {
		t.Fatalf("the row %q has no ratio", rows[len(rows)-1])
	}
	return cells[3]
}

// excerpt returns the head and some rows of the first table whose head begins with title.
func excerpt(t *testing.T, document, title string, rows ...string) string {
	t.Helper()
	_, rest, ok := strings.Cut(document, "\n| "+title+" ")
	if !ok {
		t.Fatalf("docs/benchmarks.md has no table %q", title)
	}
	table, _, _ := strings.Cut("| "+title+" "+rest, "\n\n")
	table += "\n"
	begins := []string{"| " + title + " ", "|---"}
	for _, row := range rows {
		begins = append(begins, "| "+row+" |")
	}
	var out strings.Builder
	for _, begin := range begins {
		_, row, ok := strings.Cut("\n"+table, "\n"+begin)
		if !ok {
			t.Fatalf("the table %q of docs/benchmarks.md has no row %q", title, begin)
		}
		row, _, _ = strings.Cut(row, "\n")
		out.WriteString(begin + row + "\n")
	}
	return out.String()
}
