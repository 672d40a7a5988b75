package bridge

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
)

// A KeepPolicy says which requests are kept whole, whatever the sampler says. A request is the work
// under a local root of kind server or consumer, or under marks.StartJob. The policy decides when
// the local root ends. These requests are kept, for the first reason that holds:
//
//   - chosen: the program called marks.Keep
//   - failed: a span has the status Error, as requests answered with 5xx have
//   - slow: the request took its threshold or longer. Streams are never slow.
//   - share: the request is one of the share of all others
//
// The recorders of the provider get the spans of a request that is kept. The zero value keeps
// chosen and failed requests, and requests of a second or more, 20 each second.
//
// Until the decision, spans that the sampler drops wait in memory: up to 512 KiB of a request, and
// 32 MiB of all, half of the memory of all units. The oldest entries stay. [Stats] counts the
// others, and entries that are dropped after 15 minutes without a decision. Instrumentation sees
// that IsRecording is false, and most of it leaves out what takes long to find: see docs/keep.md.
type KeepPolicy struct {
	Off bool // keep nothing that the sampler drops, and mark no request as kept

	Slow time.Duration // the threshold; 0 means 1 s, negative none
	// thresholds of single routes in place of Slow, by the local root's name at its end, as "GET
	// /items/{id}"
	Routes map[string]time.Duration

	// Factor, when positive, makes a request slow as well if it took Factor times as long as is
	// usual for its route: about the 95th percentile of the last minutes, or of the time since the
	// start if these have fewer than 128 requests. Nothing is usual before 128 requests of the
	// route.
	Factor float64

	WithoutFailed bool    // a failure is no reason
	Share         float64 // of the requests without another reason, from 0 to 1

	// PerSecond is the ceiling: how many requests are kept in a second, of any reason. Unused ones
	// of the last second may be used as well. 0 means 20, negative no ceiling. Requests above it
	// are counted, and treated as all others.
	PerSecond int

	// Export gives kept requests to the exporters, too, if this process began the trace. Their
	// spans have no sampled flag and no sampling threshold, so that backends do not extrapolate
	// from them. The local root has the attribute perfline.keep.reason. Called services have not
	// recorded their part, unless they kept it themselves.
	Export bool
}

// Check returns an error that names the first wrong field.
func (k KeepPolicy) Check() error {
	switch {
	case !(k.Factor >= 0 && k.Factor <= maxFactor):
		return fmt.Errorf("KeepPolicy.Factor %v: must be 0, for none, or up to %v", k.Factor,
			float64(maxFactor))
	case k.Factor > 0 && k.Factor < 1:
		return fmt.Errorf("KeepPolicy.Factor %v: must be at least 1", k.Factor)
	case !(k.Share >= 0 && k.Share <= 1):
		return fmt.Errorf("KeepPolicy.Share %v: must be from 0 to 1", k.Share)
	}
	for name, d := range k.Routes {
		if name == "" || d == 0 {
			return fmt.Errorf("KeepPolicy.Routes[%q] %v: must have a name and a threshold, negative for none", name, d)
		}
	}
	return nil
}

const maxFactor = 1 << 20

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
