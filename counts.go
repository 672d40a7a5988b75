package perfline

import (
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/counts"
)

// Counts returns the counts of [Stats] as a list, and the counts of the keep policy, of the recent
// requests and of sessions. The list omits the parts that this pipeline does not run, such as a
// delivery, profiling or a waits recorder.
//
// Each of perfline.marks, perfline.spans and a delivery counts every item under exactly one
// outcome. The exception is the outcome accepted of a delivery, which is the sum of the other
// outcomes.
func (p *Pipeline) Counts() []exporter.Count {
	t := append(p.counts(), counts.Recent(p.recent.Stats())...)
	return append(t, counts.Sessions(p.sessions.Counts())...).Rows()
}

// counts may run on a goroutine of OpenTelemetry's SDK, because read guards the program's code.
func (p *Pipeline) counts() counts.Table {
	_, t := p.read()
	return t
}

// read collects recorded data, and reads the counts of all parts.
func (p *Pipeline) read() (s Stats, t counts.Table) {
	s.Timeline = p.timeline.Stats()
	t = counts.Timeline(s.Timeline)
	var unlabelled uint64
	if p.tracing != nil {
		s.Bridge = p.tracing.stats()
		if p.tracing.labels != nil {
			unlabelled = p.tracing.labels.UnlabelledSpans()
		}
	}
	t = append(t, counts.Bridge(s.Bridge, unlabelled)...)
	if p.tracing != nil && p.tracing.requests != nil {
		t = append(t, counts.Requests(p.tracing.requests())...)
	}
	if p.delivery != nil {
		s.Delivery = p.delivery.Stats()
		t = append(t, counts.OTLP("spans", "{span}", "spans", s.Delivery)...)
	}
	if p.logs != nil {
		s.Logs = p.logs.Stats()
		t = append(t, counts.OTLP("logs", "{record}", "log records", s.Logs)...)
	}
	if p.points != nil {
		s.Metrics = exporter.Stats(p.points.Stats())
		t = append(t, counts.OTLP("metrics", "{point}", "metric points", s.Metrics)...)
	}
	if p.profiles != nil {
		s.Profiles = p.profiles.Stats()
		t = append(t, counts.Pyroscope(s.Profiles)...)
	}
	if p.exported != nil {
		s.OTLPProfiles = p.exported.Stats()
		t = append(t, counts.OTLPProfiles(s.OTLPProfiles)...)
	}
	if p.profiles != nil || p.exported != nil {
		taken := counts.Profiling(s.Profiles.ContinuousStats, s.OTLPProfiles.ContinuousStats)
		t = append(t, taken...)
	}
	if p.waits != nil {
		s.Waits = p.waits.Stats()
		t = append(t, counts.Waits(s.Waits, p.waits.State())...)
		if p.tracing != nil && p.tracing.annotator != nil {
			t = append(t, counts.Annotations(p.tracing.annotator.stats())...)
		}
	}
	if p.blackBox != nil {
		t = append(t, p.blackBox.counts()...)
	}
	if p.measures != nil {
		s.Measures = p.measures.Stats()
		t = append(t, counts.Measures(s.Measures)...)
	}
	return s, t
}
