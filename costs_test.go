package perfline_test

import (
	"strings"
	"testing"
)

// Other documents show rows of the runs that docs/benchmarks.md has whole.
func TestDocumentedCosts(t *testing.T) {
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
			excerpt(t, all, request+"**", none, reference, exporter, start),
		}},
		{"README.md", "costs of calls", []string{
			excerpt(t, all, "budget | must | stretch | median", "`Mark`, no attributes, 1 core", "`Mark`, 2 attributes, under a span, depth 5", "`Time…End`",
				"unsampled, 5 marks and 3 measures, against gated OpenTelemetry"),
		}},
		{"docs/exporter.md", "judge", []string{
			excerpt(t, all, request+"**", reference, exporter),
			excerpt(t, all, request+", flat out**", reference, exporter),
		}},
	} {
		documented(t, c.document, c.part, "\n"+strings.Join(c.tables, "\n"))
	}
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
