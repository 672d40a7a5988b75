package perfline

import (
	"fmt"
	"strings"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/waits"
)

// Stats contains a pipeline's counts, from the timeline to the backend.
type Stats struct {
	Timeline observer.Stats
	Bridge   bridge.Stats
	Delivery exporter.Stats // of spans; zero without a backend
	Logs     exporter.Stats // of log records; zero unless log records are exported
	Metrics  exporter.Stats // of metric points; zero unless OTLP delivers metrics

	Profiles     profiling.ExporterStats // zero without a Pyroscope server
	OTLPProfiles profiling.ExporterStats // over OTLP; zero without Config.ProfileExporter
	Waits        waits.Stats             // zero without Config.Waits
	Measures     bridge.MeasureStats     // of the histogram; zero without Config.Measures
}

// Stats processes the data recorded before the call, and returns the counts.
func (p *Pipeline) Stats() Stats {
	s, _ := p.read()
	return s
}

// A LostError counts the data that a pipeline lost between Start and Shutdown. Measures count as
// spans. Pipelines with the same timeline report the same lost marks, because the timeline counts
// marks.
type LostError struct {
	Spans        uint64   // not accepted by the backend
	Marks        uint64   // missing on the span
	LogRecords   uint64   // not accepted by the backend
	MetricPoints uint64   // not accepted by the backend; later points may replace lost points
	Profiles     uint64   // not accepted by the server, or without an answer
	Causes       []string // such as "3 spans dropped at the full queue"
}

func (e *LostError) Error() string {
	var lost []string
	for _, l := range []struct {
		n    uint64
		what string
	}{{e.Spans, "spans"}, {e.Marks, "marks"}, {e.LogRecords, "log records"},
		{e.MetricPoints, "metric points"}, {e.Profiles, "profiles"}} {
		if l.n > 0 {
			lost = append(lost, quantity(l.n, l.what))
		}
	}
	return fmt.Sprintf("perfline: lost %s (%s)", strings.Join(lost, ", "),
		strings.Join(e.Causes, ", "))
}

// quantity returns a number and its noun, as "2 spans" or "1 span". The text what begins with a
// noun in the plural.
func quantity(n uint64, what string) string {
	if n == 1 {
		noun, rest, _ := strings.Cut(what, "s ")
		what = strings.TrimSuffix(noun, "s")
		if rest != "" {
			what += " " + strings.Replace(rest, "their", "its", 1)
		}
	}
	return fmt.Sprintf("%d %s", n, what)
}

// lost returns a LostError with the losses since Start, and nil without losses.
func (p *Pipeline) lost() error {
	e := &LostError{}
	sums := map[string]*uint64{
		"perfline.marks": &e.Marks, "perfline.delivery.spans": &e.Spans,
		"perfline.delivery.logs": &e.LogRecords, "perfline.delivery.metrics": &e.MetricPoints,
		"perfline.delivery.profiles": &e.Profiles, "perfline.delivery.otlp_profiles": &e.Profiles,
	}
	for _, c := range p.counts().Rows() {
		n, what := c.N, c.What
		if c.Now {
			what += ", given up at the deadline"
		} else {
			n -= p.baseline[what]
		}
		if sum := sums[c.Group]; sum != nil && n > 0 && (c.Lost || c.Now) {
			*sum += n
			e.Causes = append(e.Causes, quantity(n, what))
		}
	}
	if len(e.Causes) == 0 {
		return nil
	}
	return e
}
