package bridge

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
)

// Defaults of a [KeepPolicy].
const (
	defaultSlow      = time.Second
	defaultPerSecond = 20
)

// A keeper applies a KeepPolicy.
type keeper struct {
	policy KeepPolicy
	onSlow func(Root) // may be nil
	// how long a route usually takes; with a factor only
	usual   func(local.Class, string) time.Duration
	ceiling ceiling
}

// newKeeper returns nil if the policy is off.
func newKeeper(policy *KeepPolicy, onSlow func(Root)) *keeper {
	if policy == nil || policy.Off {
		return nil
	}
	k := &keeper{policy: *policy, onSlow: onSlow}
	k.policy.Slow = cmp.Or(k.policy.Slow, defaultSlow)
	k.policy.Routes = maps.Clone(k.policy.Routes)
	k.ceiling.began = time.Now()
	k.ceiling.next.Store(-int64(time.Second))
	if n := cmp.Or(k.policy.PerSecond, defaultPerSecond); n > 0 {
		k.ceiling.interval = max(1, time.Second/time.Duration(n))
	}
	return k
}

// classify notes what a local root stands for. It has ended.
func (s *recordedSpan) classify() {
	d := s.readDetails()
	job, stream := d.job || otlpenc.HasTrue(s.attributes, record.JobKey), d.stream ||
		otlpenc.HasTrue(s.attributes, record.StreamKey)
	s.class = local.ClassOf(trace.SpanKind(s.kind), s.name, job, stream)
}

// asRoot returns the end of a local root that is classified.
func (s *recordedSpan) asRoot() local.Root {
	return local.Root{
		TraceID: s.spanContext.TraceID(), SpanID: s.spanContext.SpanID(), Name: s.name,
		Class: s.class,
		Start: s.startTime, End: s.endTime, Failed: s.failed(), Keep: s.keep,
	}
}

// isRequest reports whether a local root stands for a unit of work.
func (s *recordedSpan) isRequest() bool { return s.class <= local.Stream }

// decide notes why the request whose local root is s is kept. s has ended. Its unit may be nil.
func (k *keeper) decide(s *recordedSpan, unit *record.Unit) {
	if !s.isRequest() {
		s.setKeep(local.NotKept)
		return
	}
	slow := k.isSlow(s)
	reason := k.reason(s, unit, slow)
	if reason != local.NotKept && !k.ceiling.admit() {
		reason, s.overCeiling = local.NotKept, true
	}
	s.setKeep(reason)
	if slow && k.onSlow != nil && (s.sampled || reason != local.NotKept) {
		end := s.asRoot()
		root := publicRoot(&end)
		s.tracer.provider.timeline.Try("OnSlow", func() { k.onSlow(root) })
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

func (k *keeper) reason(s *recordedSpan, unit *record.Unit, slow bool) local.KeepReason {
	switch {
	case unit != nil && unit.Chosen.Load():
		return local.KeptForProgram
	case !k.policy.WithoutFailed && (s.failed() || unit != nil && unit.Failed.Load()):
		return local.KeptForFailure
	case slow:
		return local.KeptForTime
	case k.policy.Share > 0 && rand.Float64() < k.policy.Share:
		return local.KeptForShare
	default:
		return local.NotKept
	}
}

// placeOf returns the place that counts the decision about the request of a local root. It is
// negative if there was no decision.
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

// isSlow reports whether a request was slow.
func (k *keeper) isSlow(s *recordedSpan) bool {
	if s.class == local.Stream {
		return false
	}
	took, threshold := s.endTime.Sub(s.startTime), k.policy.Slow
	if len(k.policy.Routes) > 0 {
		if own, ok := k.policy.Routes[s.name]; ok {
			threshold = own
		}
	}
	slow := threshold >= 0 && took >= threshold
	if k.policy.Factor > 0 {
		usual := k.usual(s.class, s.name)
		slow = slow || usual > 0 && float64(took) >= k.policy.Factor*float64(usual)
	}
	return slow
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

// tentativeRoots count the local roots of an instrumentation scope that are tentative. Some
// instrumentation never ends a span that is not recording: otelgrpc is such. Its roots must not
// wait for ever in growing numbers.
type tentativeRoots struct {
	// nil before the first one: most scopes have none
	parts atomic.Pointer[record.PerProcessor[rootCounts]]
	full  atomic.Bool // too many never end
}

// near returns the counts of the processor.
func (r *tentativeRoots) near() *rootCounts {
	if r.parts.Load() == nil {
		r.parts.CompareAndSwap(nil, new(record.PerProcessor[rootCounts]))
	}
	return r.parts.Load().Near()
}

type rootCounts struct {
	asked, begun, ended atomic.Int64

	_ [64]byte // keeps the next one off these cache lines
}

// maxTentativeRoots is about how many may be open while fewer than half of all have ended.
const maxTentativeRoots = 4096

// begin counts a root that begins. It returns false if too many never end.
func (r *tentativeRoots) begin(stats *counters) bool {
	c := r.near()
	if c.asked.Add(1)%32 == 0 {
		r.look()
	}
	if r.full.Load() {
		stats[requestsUntracked].Add(1)
		return false
	}
	c.begun.Add(1)
	return true
}

// look looks whether too many never end.
func (r *tentativeRoots) look() {
	var begun, ended int64
	for c := range r.parts.Load().All() {
		begun += c.begun.Load()
		ended += c.ended.Load()
	}
	if full := begun-ended >= maxTentativeRoots && ended < begun/2; full != r.full.Load() {
		r.full.Store(full)
	}
}

func (r *tentativeRoots) end() { r.near().ended.Add(1) }

// exports reports whether a request that is kept and not sampled is exported: only by the process
// that began the trace.
func (k *keeper) exports(s *recordedSpan) bool {
	return k.policy.Export && len(s.tracer.provider.exporters) > 0 && !s.parent.elsewhere
}

// withoutThreshold returns a trace state without the probability with which the trace was sampled:
// the member ot loses th, and keeps the rest. Backends count a span without it once.
func withoutThreshold(state trace.TraceState) trace.TraceState {
	const member, threshold = "ot", "th:"
	value := state.Get(member)
	if !strings.Contains(value, threshold) {
		return state
	}
	rest := slices.DeleteFunc(strings.Split(value, ";"),
		func(part string) bool { return strings.HasPrefix(part, threshold) })
	state = state.Delete(member)
	if with, err := state.Insert(member, strings.Join(rest, ";")); len(rest) > 0 && err == nil {
		return with
	}
	return state
}

// A ceiling admits one request in each interval, and up to a second's at once.
type ceiling struct {
	interval time.Duration // 0 for no ceiling
	began    time.Time
	// when the requests that were admitted are used up, in nanoseconds since began
	next atomic.Int64
}

func (c *ceiling) admit() bool {
	if c.interval == 0 {
		return true
	}
	now := int64(time.Since(c.began))
	for {
		was := c.next.Load()
		next := max(was, now-int64(time.Second)) + int64(c.interval)
		if next > now {
			return false
		}
		if c.next.CompareAndSwap(was, next) {
			return true
		}
	}
}
