package bridge

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
)

// classify notes what a local root stands for. It has ended.
func (s *recordedSpan) classify() {
	d := s.readDetails()
	job := d.job || otlpenc.HasTrue(s.attributes, record.JobKey)
	stream := d.stream || otlpenc.HasTrue(s.attributes, record.StreamKey)
	s.class = local.ClassOf(trace.SpanKind(s.kind), s.name, job, stream)
}

// asRoot returns the end of a local root that is classified.
func (s *recordedSpan) asRoot() local.Root {
	return local.Root{
		TraceID: s.spanContext.TraceID(), SpanID: s.spanContext.SpanID(), Name: s.name,
		Class: s.class, Start: s.startTime, End: s.endTime, Failed: s.failed(), Keep: s.keep,
	}
}

// isRequest reports whether a local root stands for a unit of work.
func (s *recordedSpan) isRequest() bool { return s.class <= local.Stream }

// decide notes why the request whose local root is s is kept. s has ended. Its unit may be nil.
func (p *TracerProvider) decide(s *recordedSpan, unit *record.Unit) {
	if !s.isRequest() {
		s.setKeep(local.NotKept)
		return
	}
	failed, chosen := s.failed(), false
	if unit != nil {
		failed, chosen = failed || unit.Failed.Load(), unit.Chosen.Load()
	}
	d := p.keeper.Decide(s.class, s.name, s.endTime.Sub(s.startTime), failed, chosen)
	s.overCeiling = d.OverCeiling
	s.setKeep(d.Reason)
	if d.Slow && p.onSlow != nil && (s.sampled || d.Reason != local.NotKept) {
		end := s.asRoot()
		root := publicRoot(&end)
		p.timeline.Try("OnSlow", func() { p.onSlow(root) })
	}
}

func (s *recordedSpan) setKeep(reason local.KeepReason) {
	if !s.tentative { // no child asks
		s.keep = reason
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep, s.decided = reason, true
}

// placeOf returns the place that counts the decision about the request of a local root. The place
// is negative if there was no decision.
func (p *TracerProvider) placeOf(s *recordedSpan) int {
	switch {
	case s.overCeiling:
		return requestsOverCeiling
	case p.keeper == nil || !s.isRequest():
		return -1
	default:
		return requestsByReason + int(s.keep)
	}
}

// countDropped counts a local root whose request is not kept, soon.
func (p *TracerProvider) countDropped(s *recordedSpan) {
	if place := p.placeOf(s); place >= 0 || p.routes != nil {
		p.dropped.Add(s.asRoot(), place)
	}
}

// countRoot counts a local root in its route, and at a place of the counts unless that is negative.
func (p *TracerProvider) countRoot(r *local.Root, place int) {
	if p.routes != nil {
		p.routes.Add(*r)
	}
	if place >= 0 {
		p.joined.stats[place].Add(1)
	}
}

// noteDropped notes what the policy wants to know of an attribute for which the span has no room.
// s.mu is held.
func (s *recordedSpan) noteDropped(a *attribute.KeyValue) {
	if s.tracer.provider.keeper == nil || !a.Valid() {
		return
	}
	if a.Key == record.StreamKey {
		s.withDetails().stream = a.Value.AsBool()
	}
	if a.Key == record.JobKey {
		s.withDetails().job = a.Value.AsBool()
	}
}

// beginTentative counts a local root of the tracer that waits for the policy's decision. It returns
// false if too many never end.
func (t *tracer) beginTentative() bool {
	tracked := t.roots.Begin()
	if !tracked {
		t.provider.joined.stats[requestsUntracked].Add(1)
	}
	return tracked
}
