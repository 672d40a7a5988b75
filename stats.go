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

// Stats has a pipeline's counts, from the timeline to the backend.
type Stats struct {
	Timeline observer.Stats
	Bridge   bridge.Stats
	Delivery exporter.Stats // of spans; zero without a backend
	Logs     exporter.Stats // of log records; zero unless they are exported
	Metrics  exporter.Stats // of metric points; zero unless they are sent over OTLP

	Profiles     profiling.ExporterStats // zero without a Pyroscope server
	OTLPProfiles profiling.ExporterStats // over OTLP; zero without Config.ProfileExporter

	Waits waits.Stats // zero without Config.Waits

	Measures bridge.MeasureStats // of the histogram of measures; zero without Config.Measures

	// UnlabelledSpans counts the SDK's spans missing in profiles, because too many were open.
	// perfline's own provider has no such bound.
	UnlabelledSpans uint64
}

// Stats collects what was recorded and returns the counts.
func (p *Pipeline) Stats() Stats {
	s := Stats{Timeline: p.timeline.Stats()}
	if p.tracing != nil {
		s.Bridge = p.tracing.stats()
		if p.tracing.labels != nil {
			s.UnlabelledSpans = p.tracing.labels.UnlabelledSpans()
		}
	}
	if p.delivery != nil {
		s.Delivery = p.delivery.Stats()
	}
	if p.logs != nil {
		s.Logs = p.logs.Stats()
	}
	if p.points != nil {
		s.Metrics = exporter.Stats(p.points.Stats())
	}
	if p.profiles != nil {
		s.Profiles = p.profiles.Stats()
	}
	if p.exported != nil {
		s.OTLPProfiles = p.exported.Stats()
	}
	if p.waits != nil {
		s.Waits = p.waits.Stats()
	}
	if p.measures != nil {
		s.Measures = p.measures.Stats()
	}
	return s
}

// A LostError reports what a pipeline lost between Start and Shutdown. Marks count for the
// timeline: pipelines that carry the same timeline at the same time share them. Measures are spans.
type LostError struct {
	Spans      uint64 // not accepted by the backend
	Marks      uint64 // not on a span, although one was active
	LogRecords uint64 // not accepted by the backend
	// not accepted by the backend; later points of the same metrics may have replaced them
	MetricPoints uint64
	Profiles     uint64   // not accepted by the server, or without its answer
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
			lost = append(lost, counted(l.n, l.what))
		}
	}
	return fmt.Sprintf("perfline: lost %s (%s)", strings.Join(lost, ", "),
		strings.Join(e.Causes, ", "))
}

// counted returns a number and what it counts, as "2 spans" or "1 span". A text begins with a noun
// in the plural.
func counted(n uint64, what string) string {
	if n == 1 {
		noun, rest, _ := strings.Cut(what, "s ")
		what = strings.TrimSuffix(noun, "s")
		if rest != "" {
			what += " " + strings.Replace(rest, "their", "its", 1)
		}
	}
	return fmt.Sprintf("%d %s", n, what)
}

// lost returns a LostError with the losses since before, and nil without losses.
func (s Stats) lost(before Stats) error {
	e := &LostError{}
	add := func(sum *uint64, now, then uint64, what string) {
		if now > then {
			*sum += now - then
			e.Causes = append(e.Causes, counted(now-then, what))
		}
	}
	d, l, m, b, o, f := s.Delivery, s.Logs, s.Metrics, s.Bridge, before.Bridge, s.Profiles
	op := overOTLP(s.OTLPProfiles)
	add(&e.Spans, d.Dropped, 0, "spans"+full)
	add(&e.Spans, d.Failed, 0, "spans not accepted by the backend")
	add(&e.Spans, d.Pending, 0, "spans given up at the deadline")
	add(&e.LogRecords, l.Dropped, 0, "log records"+fullOrUnknown)
	add(&e.LogRecords, l.Failed, 0, "log records not accepted by the backend")
	add(&e.LogRecords, l.Pending, 0, "log records given up at the deadline")
	add(&e.MetricPoints, m.Dropped, 0, "metric points"+fullOrUnknown)
	add(&e.MetricPoints, m.Failed, 0, "metric points not accepted by the backend")
	add(&e.MetricPoints, m.Pending, 0, "metric points given up at the deadline")
	add(&e.Marks, b.MarksDropped, o.MarksDropped, "marks dropped at the full timeline")
	add(&e.Marks, b.MarksAfterEnd, o.MarksAfterEnd, "marks made after their span's end")
	add(&e.Marks, b.MarksOverLimit, o.MarksOverLimit, "marks over their span's event limit")
	add(&e.Marks, b.MarksOfOpenSpans, o.MarksOfOpenSpans, "marks of spans that did not end in time")
	add(&e.Profiles, f.Refused, 0, "profiles that the server refused")
	add(&e.Profiles, f.Unanswered, 0, "profiles that the server did not answer")
	add(&e.Profiles, f.Dropped, 0, "profiles"+full)
	add(&e.Profiles, f.Pending, 0, "profiles given up at the end")
	add(&e.Profiles, op.Dropped, 0, "profiles over OTLP"+fullOrUnknown)
	add(&e.Profiles, op.Failed, 0, "profiles over OTLP not accepted by the receiver")
	add(&e.Profiles, op.Pending, 0, "profiles over OTLP given up at the end")
	if len(e.Causes) == 0 {
		return nil
	}
	return e
}
