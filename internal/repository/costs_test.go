package repository_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The names of the judge's tables and rows in docs/lab/benchmarks.md.
const (
	judged     = "**HTTP request whose handler works, with 3 marks and 2 measures of 2 attributes each, service and client in one process"
	flatOut    = judged + ", flat out"
	paced      = judged + ", 1000/s"
	reference  = "otelhttp + SDK + otlptracegrpc"
	ourExport  = "otelhttp + SDK + our exporter"
	theProgram = "perfline.Start + middleware + page" // of the README
)

// The README and a guide show figures of the tables in docs/lab/benchmarks.md.
func TestDocumentedCosts(t *testing.T) {
	atRoot(t)
	all := string(read(t, "docs/lab/benchmarks.md"))
	documented(t, "docs/exporter.md", "judge", "\n"+excerpt(t, all, flatOut, reference, ourExport)+"\n"+excerpt(t, all, paced, reference, ourExport))
	documented(t, "docs/exporter.md", "sizes", "\n"+excerpt(t, all, "program", "SDK + otlptracegrpc", "SDK + our exporter"))

	var table strings.Builder
	table.WriteString("| | " + reference + " | " + ourExport + " | " + theProgram + " |\n|---|---:|---:|---:|\n")
	row := func(what, title, column string) {
		table.WriteString("| " + what)
		for _, variant := range []string{reference, ourExport, theProgram} {
			table.WriteString(" | " + cell(t, excerpt(t, all, title, variant), column))
			if column == "× reference" && variant != reference {
				table.WriteString(" (" + cell(t, excerpt(t, all, title, variant), "95 %") + ")")
			}
		}
		table.WriteString(" |\n")
	}
	row("CPU added to a request, flat out", flatOut, "× reference")
	row("CPU added to a request, 1000/s", paced, "× reference")
	row("allocations added to a request", flatOut, "allocations added")
	row("bytes of a request on the wire", flatOut, "bytes on the wire")
	for _, column := range []string{"MB added", "modules"} {
		what := map[string]string{"MB added": "megabytes added to a program", "modules": "modules added to a program"}[column]
		table.WriteString("| " + what + " | " + cell(t, excerpt(t, all, "program", reference), column) + " | – | " +
			cell(t, excerpt(t, all, "program", theProgram), column) + " |\n")
	}
	documented(t, "README.md", "costs", "\n"+table.String())
}

// What the documents say in one sentence is what the judge's tables say.
func TestDocumentedHeadline(t *testing.T) {
	atRoot(t)
	all := string(read(t, "docs/lab/benchmarks.md"))
	var want []string
	for _, title := range []string{flatOut, paced} {
		ratio, err := strconv.ParseFloat(cell(t, excerpt(t, all, title, theProgram), "× reference"), 64)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, strconv.Itoa(int(100*ratio+0.5)))
	}
	for _, document := range []string{"README.md", "doc.go", "docs/otelhttp.md"} {
		text := string(read(t, document))
		at := headline.FindStringSubmatchIndex(text)
		if at == nil {
			t.Errorf("%s has no sentence like %q", document, headline)
			continue
		}
		said := text[:at[2]] + want[0] + text[at[3]:at[4]] + want[1] + text[at[5]:]
		switch {
		case said == text:
		case *update:
			if err := os.WriteFile(document, []byte(said), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s says %q, and the judge's tables %s %% and %s %% (go test -run Documented ./internal/repository -update writes it)",
				document, text[at[0]:at[1]], want[0], want[1])
		}
	}
}

// headline matches the sentence also where it is broken into lines of a comment.
var headline = regexp.MustCompile(strings.ReplaceAll(
	`(\d+) % of the CPU time that OpenTelemetry's SDK adds at full load, and (\d+) % at 1000 requests a second`, " ", `\s+(?://\s+)?`))

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
	_, rest, ok := strings.Cut(document, "\n| "+title)
	if !ok {
		t.Fatalf("docs/lab/benchmarks.md has no table %q", title)
	}
	table, _, _ := strings.Cut("| "+title+rest, "\n\n")
	table += "\n"
	begins := []string{"| " + title, "|---"}
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
