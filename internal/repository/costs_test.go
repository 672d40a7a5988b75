package repository_test

import (
	"strings"
	"testing"
)

// The README and a guide show figures of the tables in docs/lab/benchmarks.md.
func TestDocumentedCosts(t *testing.T) {
	atRoot(t)
	const (
		request   = "**HTTP request, 3 marks and 2 measures with 2 attributes each"
		reference = "otelhttp + SDK + otlptracegrpc"
		exporter  = "otelhttp + SDK + our exporter"
		start     = "perfline.Start + middleware"
	)
	all := string(read(t, "docs/lab/benchmarks.md"))
	documented(t, "docs/exporter.md", "judge", "\n"+
		excerpt(t, all, request+"**", reference, exporter)+"\n"+
		excerpt(t, all, request+", flat out**", reference, exporter))

	var table strings.Builder
	table.WriteString("| | " + reference + " | " + exporter + " | " + start + " |\n|---|---:|---:|---:|\n")
	row := func(what, title, column string) {
		table.WriteString("| " + what)
		for _, variant := range []string{reference, exporter, start} {
			table.WriteString(" | " + cell(t, excerpt(t, all, title, variant), column))
			if column == "× reference" && variant != reference {
				table.WriteString(" (" + cell(t, excerpt(t, all, title, variant), "95 %") + ")")
			}
		}
		table.WriteString(" |\n")
	}
	row("CPU added to a request, flat out", request+", flat out**", "× reference")
	row("CPU added to a request, 1000/s", request+", 1000/s**", "× reference")
	row("allocations added to a request", request+"**", "allocations added")
	row("bytes of a request on the wire", request+", flat out**", "bytes on the wire")
	for _, column := range []string{"MB added", "modules"} {
		what := map[string]string{"MB added": "megabytes added to a program", "modules": "modules added to a program"}[column]
		table.WriteString("| " + what + " | " + cell(t, excerpt(t, all, "program", reference), column) + " | – | " +
			cell(t, excerpt(t, all, "program", start), column) + " |\n")
	}
	documented(t, "README.md", "costs", "\n"+table.String())
}

// Two commands measure the sizes of programs: "sizes" alone, in seconds, and "budgets" beside all else, in many minutes. Whoever runs
// the first one must not leave other sizes in the table of the second one.
func TestSizesAreTheSameInBothTables(t *testing.T) {
	atRoot(t)
	all := string(read(t, "docs/lab/benchmarks.md"))
	for _, program := range []string{"SDK + our exporter", "perfline.Start", "perfline.Start + middleware"} {
		for column, what := range map[string]string{"MB added": "MB added to a program", "modules": "modules"} {
			want := cell(t, excerpt(t, all, "program", program), column)
			if got := cell(t, excerpt(t, all, "budget", program+": "+what), "is"); got != want {
				t.Errorf("the budgets say that %s: %s is %s, the sizes say %s", program, what, got, want)
			}
		}
	}
}

// cell returns the value of a column in the last row of a table.
func cell(t *testing.T, table, column string) string {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(table), "\n")
	for i, name := range strings.Split(rows[0], " | ") {
		if strings.Trim(name, "| ") == column {
			return strings.Trim(strings.Split(rows[len(rows)-1], " | ")[i], "| ")
		}
	}
	t.Fatalf("the table has no column %q:\n%s", column, table)
	return ""
}

// excerpt returns the head and some rows of the first table whose head begins with title.
func excerpt(t *testing.T, document, title string, rows ...string) string {
	t.Helper()
	_, rest, ok := strings.Cut(document, "\n| "+title+" ")
	if !ok {
		t.Fatalf("docs/lab/benchmarks.md has no table %q", title)
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
			t.Fatalf("the table %q of docs/lab/benchmarks.md has no row %q", title, begin)
		}
		row, _, _ = strings.Cut(row, "\n")
		out.WriteString(begin + row + "\n")
	}
	return out.String()
}
