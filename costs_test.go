package perfline_test

import (
	"strings"
	"testing"
)

// The README's figures are some of those of the run that is documented whole.
func TestDocumentedCosts(t *testing.T) {
	all := string(read(t, "docs/benchmarks.md"))
	var costs strings.Builder
	for _, row := range []string{
		"budget", "---",
		"`Mark`, no attributes, 1 core", "`Mark`, 2 attributes, under a span, depth 5", "`Time…End`",
		"a request's 5 marks and 3 measures, time added, against OpenTelemetry", "the same, CPU in all up to marshalled OTLP",
		"unsampled, 5 marks and 3 measures, against gated OpenTelemetry",
		"middleware's time against otelhttp's, sampled", "middleware's allocations against otelhttp's, sampled",
	} {
		begin := "| " + row + " |"
		if row == "---" { // under the first
			begin = "|---|"
		}
		_, rest, ok := strings.Cut(all, "\n"+begin)
		if !ok {
			t.Fatalf("docs/benchmarks.md has no row %q", row)
		}
		if row == "budget" {
			all = "\n" + begin + rest
		}
		rest, _, _ = strings.Cut(rest, "\n")
		costs.WriteString(begin + rest + "\n")
	}
	documented(t, "README.md", "costs", costs.String())
}
