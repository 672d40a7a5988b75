package bridge

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/observer/record"
)

// Defaults of a [KeepPolicy].
const (
	defaultSlow      = time.Second
	defaultPerSecond = 20
)

// A keeper applies a KeepPolicy.
type keeper struct {
	policy  KeepPolicy
	onSlow  func(SlowRequest) // may be nil
	routes  routeDurations
	ceiling ceiling
	counts  [stripes]keeperCounts
}

// keeperCounts count decisions.
type keeperCounts struct {
	reasons     [otlpenc.KeptForShare + 1]atomic.Uint64 // otlpenc.NotKept: of requests that are not kept
	overCeiling atomic.Uint64
	untracked   atomic.Uint64
	exported    atomic.Uint64

	_ [64]byte // keeps the next one off these cache lines
}

// newKeeper returns nil if the policy is off.
func newKeeper(policy *KeepPolicy, onSlow func(SlowRequest)) *keeper {
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

// decide returns why the request whose local root is s is kept. s has ended. Its unit may be nil.
func (k *keeper) decide(s *recordedSpan, unit *record.Timeline) otlpenc.KeepReason {
	if !s.isRequest() {
		return otlpenc.NotKept
	}
	counts := &k.counts[s.spanContext.SpanID()[7]%stripes]
	slow := k.isSlow(s)
	reason := k.reason(s, unit, slow)
	if reason != otlpenc.NotKept && !k.ceiling.admit() {
		counts.overCeiling.Add(1)
		reason = otlpenc.NotKept
	} else {
		counts.reasons[reason].Add(1)
	}
	if slow && k.onSlow != nil && (s.sampled || reason != otlpenc.NotKept) {
		slow := SlowRequest{TraceID: s.spanContext.TraceID(), SpanID: s.spanContext.SpanID(), Name: s.name, Start: s.startTime, End: s.endTime}
		s.tracer.provider.timeline.Try("OnSlow", func() { k.onSlow(slow) })
	}
	return reason
}

func (k *keeper) reason(s *recordedSpan, unit *record.Timeline, slow bool) otlpenc.KeepReason {
	switch {
	case unit != nil && unit.Chosen():
		return otlpenc.KeptForProgram
	case !k.policy.WithoutFailed && (s.failed() || unit != nil && unit.Failed()):
		return otlpenc.KeptForFailure
	case slow:
		return otlpenc.KeptForTime
	case k.policy.Share > 0 && rand.Float64() < k.policy.Share:
		return otlpenc.KeptForShare
	default:
		return otlpenc.NotKept
	}
}

// isSlow reports whether a request was slow, and adds its duration to its route.
func (k *keeper) isSlow(s *recordedSpan) bool {
	if s.isStream() {
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
		usual := k.routes.of(s.name).add(took)
		slow = slow || usual > 0 && float64(took) >= k.policy.Factor*float64(usual)
	}
	return slow
}

// noteDropped notes what the policy wants to know of an attribute for which the span has no room. s.mu is held.
func (s *recordedSpan) noteDropped(a *attribute.KeyValue) {
	if s.tracer.provider.keeper == nil || !a.Valid() {
		return
	}
	switch a.Key {
	case record.StreamKey:
		s.withDetails().stream = a.Value.AsBool()
	case record.JobKey:
		s.withDetails().job = a.Value.AsBool()
	default:
	}
}

// addTo adds the counts of all decisions.
func (k *keeper) addTo(s *RequestStats) {
	for i := range k.counts {
		c := &k.counts[i]
		s.Chosen += c.reasons[otlpenc.KeptForProgram].Load()
		s.Failed += c.reasons[otlpenc.KeptForFailure].Load()
		s.Slow += c.reasons[otlpenc.KeptForTime].Load()
		s.Share += c.reasons[otlpenc.KeptForShare].Load()
		s.OverCeiling += c.overCeiling.Load()
		s.Untracked += c.untracked.Load()
		s.Others += c.reasons[otlpenc.NotKept].Load()
		s.Exported += c.exported.Load()
	}
}

// tentativeRoots count the local roots of an instrumentation scope that are tentative. Some instrumentation never ends a span that is not
// recording: otelgrpc is such. Its roots must not wait for ever in growing numbers.
type tentativeRoots struct{ begun, ended atomic.Int64 }

// maxTentativeRoots is how many may be open while fewer than half of all have ended.
const maxTentativeRoots = 4096

// begin counts a root that begins. It returns false if too many never end.
func (r *tentativeRoots) begin(k *keeper) bool {
	begun, ended := r.begun.Add(1), r.ended.Load()
	if begun-ended <= maxTentativeRoots || ended >= begun/2 {
		return true
	}
	r.begun.Add(-1)
	k.counts[0].untracked.Add(1)
	return false
}

func (r *tentativeRoots) end() { r.ended.Add(1) }

// exports counts a request that is kept and not sampled, and reports whether it is exported. Only the process that began the
// trace exports it: other processes have not.
func (k *keeper) exports(s *recordedSpan) bool {
	if !k.policy.Export || len(s.tracer.provider.exporters) == 0 || s.parent.id.IsValid() {
		return false
	}
	k.counts[s.spanContext.SpanID()[7]%stripes].exported.Add(1)
	return true
}

// withoutThreshold returns a trace state without the probability with which the trace was sampled: the member ot loses th, and
// keeps the rest. Backends count a span without it once.
func withoutThreshold(state trace.TraceState) trace.TraceState {
	const member, threshold = "ot", "th:"
	value := state.Get(member)
	if !strings.Contains(value, threshold) {
		return state
	}
	var rest []string
	for part := range strings.SplitSeq(value, ";") {
		if !strings.HasPrefix(part, threshold) {
			rest = append(rest, part)
		}
	}
	state = state.Delete(member)
	if len(rest) > 0 {
		if with, err := state.Insert(member, strings.Join(rest, ";")); err == nil {
			return with
		}
	}
	return state
}

// A ceiling admits one request in each interval, and up to a second's at once.
type ceiling struct {
	interval time.Duration // 0 for no ceiling
	began    time.Time
	next     atomic.Int64 // when the requests that were admitted are used up, in nanoseconds since began
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
