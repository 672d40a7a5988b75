package bridge

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/keep"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
)

// A KeepPolicy selects requests to keep. Recorders receive all spans of a kept request, even if the
// sampler dropped the request. A request is the work under one of these local roots:
//
//   - a span of kind server or consumer
//   - a job of marks.StartJob
//
// The policy decides when the local root ends. The policy keeps a request for the first of these
// reasons that applies:
//
//   - chosen: the program called marks.Keep.
//   - failed: the local root has the status Error. A request answered with 5xx has this status.
//   - slow: the duration of the request reached the threshold. Streams are never slow. The
//     policy keeps no inner request for this reason: see [Root].
//   - error_inside: a span under the local root has the status Error. The program may have handled
//     this error. Such requests have a ceiling of their own, and are not exported.
//   - share: the policy keeps a random share of all other requests.
//
// The zero value keeps chosen and failed requests, requests of a second or more, and requests with
// an error inside. The zero value keeps at most 20 requests a second, and 5 with an error inside.
//
// Spans that the sampler drops stay in memory until the decision. The limits are 512 KiB for a
// request and 32 MiB for all requests, which is half of the memory of all units. New entries are
// dropped when this memory is full. Entries that wait 15 minutes for a decision are dropped, too.
// [TracerProvider.RequestCounts] counts all dropped entries.
//
// IsRecording returns false for spans that wait for a decision. Instrumentation therefore often
// omits expensive attributes: see docs/keep.md.
type KeepPolicy struct {
	Off bool // keep no request, and mark no sampled request as kept

	Slow time.Duration // the threshold; 0 means 1 s, and a negative value means no threshold

	// Routes contains thresholds of single routes. These thresholds replace Slow. The key is the
	// name of the local root at the end, such as "GET /items/{id}".
	Routes map[string]time.Duration

	// Factor, if positive, is a second threshold, relative to the route. A request is slow if the
	// duration reaches Factor times the usual duration of the route. Factor is from 1 to 2^20. 0
	// disables the relative threshold.
	//
	// The default is different if TracerProviderConfig.OnSlow is set, for example by a waits
	// recorder. Then, without Slow and Factor, Factor is 3 for routes outside Routes, and the
	// relative threshold is at least 50 ms.
	//
	// The usual duration is about the 95th percentile of the last minutes. If the last minutes have
	// fewer than 128 requests of the route, all requests since the start count. The relative
	// threshold applies after 128 requests of the route.
	Factor float64

	WithoutFailed bool    // a failure, or an error inside, is no reason to keep a request
	Share         float64 // the share of requests without another reason, from 0 to 1

	// PerSecond is the ceiling: the largest number of requests that the policy keeps in a second.
	// The unused number of a second is added to the next second. 0 means 20, and a negative value
	// means no ceiling. TracerProvider.RequestCounts counts requests over the ceiling. The policy
	// treats these requests as requests without a reason.
	//
	// Requests with only an error inside do not count. Their own ceiling is a quarter of PerSecond,
	// but at least one a second.
	PerSecond int

	// Export also sends kept requests to the exporters, if this process started the trace.
	// Requests with only an error inside stay in memory: the error may be a normal answer. The
	// spans have no sampled flag and no sampling threshold, so that backends do not extrapolate
	// from the spans. The local root has the attribute perfline.keep.reason. The trace contains
	// spans of called services only if these services also keep the request.
	Export bool
}

// Check returns an error for the first invalid field, or nil. The error names the field.
func (k KeepPolicy) Check() error {
	switch {
	case k.Factor != 0 && !(k.Factor >= 1 && k.Factor <= maxFactor):
		return fmt.Errorf("KeepPolicy.Factor %v: must be 0, for none, or from 1 to %v", k.Factor,
			maxFactor)
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

const maxFactor float64 = 1 << 20

func (s *recordedSpan) classify() {
	d := s.readDetails()
	job := d.job || otlpenc.HasTrue(s.attributes, record.JobKey)
	stream := d.stream || otlpenc.HasTrue(s.attributes, record.StreamKey)
	if u := s.unit.Load(); u != nil && u.Stream.Load() {
		stream = true
	}
	s.class = local.ClassOf(trace.SpanKind(s.kind), s.name, job, stream)
	if s.inner && s.class == local.Request {
		s.class = local.Inner
	}
}

// asRoot returns the Root of an ended local root, after classify.
func (s *recordedSpan) asRoot() local.Root {
	return local.Root{
		TraceID: s.spanContext.TraceID(), SpanID: s.spanContext.SpanID(), Name: s.name,
		Class: s.class, Message: trace.SpanKind(s.kind) != trace.SpanKindServer,
		Start: s.startTime, End: s.endTime, Failed: s.failed(), Keep: s.keep,
	}
}

func (s *recordedSpan) isRequest() bool { return s.class <= local.Inner }

// applyKeepPolicy decides about the request of a local root that has ended. For another span,
// applyKeepPolicy records an error for the later decision. The unit of a local root may be nil.
func (s *recordedSpan) applyKeepPolicy(unit *record.Unit) {
	p := s.tracer.provider
	switch {
	case p.keeper == nil:
		return
	case !s.root:
		if s.failed() {
			unit.ErrorInside.Store(true)
		}
		return
	case s.tentative:
		s.tracer.roots.End()
	}
	var d keep.Decision
	if s.isRequest() {
		q := keep.Request{
			Class: s.class, Name: s.name, Took: s.endTime.Sub(s.startTime), Failed: s.failed(),
		}
		if unit != nil {
			q.ErrorInside, q.Chosen = unit.ErrorInside.Load(), unit.Chosen.Load()
		}
		d = p.keeper.Decide(&q)
	}
	s.mu.Lock()
	s.keep, s.overCeiling, s.decided = d.Reason, d.OverCeiling, true
	s.mu.Unlock()
	if d.Slow && p.onSlow != nil && (s.sampled || d.Reason != local.NotKept) {
		end := s.asRoot()
		root, exported := publicRoot(&end), s.sampled || s.exportsKept(s.keep)
		p.timeline.Try("OnSlow", func() { p.onSlow(root, exported) })
	}
}

// decisionCounter returns the counter of the decision about a request, or -1 without a decision.
func (p *TracerProvider) decisionCounter(s *recordedSpan) int {
	switch {
	case s.overCeiling == local.KeptForErrorInside:
		return requestsInsideOverCeiling
	case s.overCeiling != local.NotKept:
		return requestsOverCeiling
	case p.keeper == nil || !s.isRequest():
		return -1
	default:
		return requestsByReason + int(s.keep)
	}
}

// countRoot counts a local root in its route, and in a counter unless the counter is negative.
func (p *TracerProvider) countRoot(r *local.Root, counter int) {
	if p.routes != nil {
		p.routes.Add(*r)
	}
	if counter >= 0 {
		p.attachment.stats[counter].Add(1)
	}
}

// noteKeepAttribute reads an attribute that the span drops, because the policy depends on two
// attributes. s.mu is held.
func (s *recordedSpan) noteKeepAttribute(a *attribute.KeyValue) {
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

// beginTentative counts a local root that waits for the policy's decision. beginTentative returns
// false if too many local roots of the tracer never end.
func (t *tracer) beginTentative() bool {
	tracked := t.roots.Begin()
	if !tracked {
		t.provider.attachment.stats[requestsUntracked].Add(1)
	}
	return tracked
}
