// Package keep decides which requests are kept whole, and counts the local roots that are not.
// Package bridge has the policy for programs, KeepPolicy, and the spans.
package keep

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// A Policy is a bridge.KeepPolicy.
type Policy struct {
	Off           bool
	Slow          time.Duration
	Routes        map[string]time.Duration
	Factor        float64
	WithoutFailed bool
	Share         float64
	PerSecond     int
	Export        bool
}

// Defaults of a [Policy].
const (
	defaultSlow      = time.Second
	defaultPerSecond = 20
)

// A Keeper applies a policy.
type Keeper struct {
	policy  Policy
	usual   *routes.Table // how long a route usually takes; with a factor only
	ceiling ceiling
}

// New returns a keeper. With a factor, it needs the table.
func New(p Policy, usual *routes.Table) *Keeper {
	k := &Keeper{policy: p, usual: usual}
	k.policy.Slow = cmp.Or(p.Slow, defaultSlow)
	k.policy.Routes = maps.Clone(p.Routes)
	k.ceiling.began = time.Now()
	k.ceiling.next.Store(-int64(time.Second))
	if n := cmp.Or(p.PerSecond, defaultPerSecond); n > 0 {
		k.ceiling.interval = max(1, time.Second/time.Duration(n))
	}
	return k
}

// A Decision says what becomes of a request.
type Decision struct {
	Reason      local.KeepReason
	Slow        bool // also if the request is kept for another reason, or not at all
	OverCeiling bool // the request is not kept although there is a reason
}

// Decide decides about the request under a local root of a class, with a name. failed says that the
// root or a span under it has failed, and chosen that the program asked to keep the request.
func (k *Keeper) Decide(
	class local.Class, name string, took time.Duration, failed, chosen bool,
) Decision {
	d := Decision{Slow: k.isSlow(class, name, took)}
	switch {
	case chosen:
		d.Reason = local.KeptForProgram
	case failed && !k.policy.WithoutFailed:
		d.Reason = local.KeptForFailure
	case d.Slow:
		d.Reason = local.KeptForTime
	case k.policy.Share > 0 && rand.Float64() < k.policy.Share:
		d.Reason = local.KeptForShare
	}
	if d.Reason != local.NotKept && !k.ceiling.admit() {
		d.Reason, d.OverCeiling = local.NotKept, true
	}
	return d
}

// isSlow reports whether a request was slow.
func (k *Keeper) isSlow(class local.Class, name string, took time.Duration) bool {
	if class == local.Stream {
		return false
	}
	threshold := k.policy.Slow
	if len(k.policy.Routes) > 0 {
		if own, ok := k.policy.Routes[name]; ok {
			threshold = own
		}
	}
	slow := threshold >= 0 && took >= threshold
	if k.policy.Factor > 0 {
		usual := k.usual.Usual(class, name)
		slow = slow || usual > 0 && float64(took) >= k.policy.Factor*float64(usual)
	}
	return slow
}

// Exports reports whether requests that are kept and not sampled are exported.
func (k *Keeper) Exports() bool { return k.policy.Export }

// WithoutThreshold returns a trace state without the probability with which the trace was sampled:
// the member ot loses th, and keeps the rest. Backends count a span without it once.
func WithoutThreshold(state trace.TraceState) trace.TraceState {
	const member, threshold = "ot", "th:"
	value := state.Get(member)
	if !strings.Contains(value, threshold) {
		return state
	}
	isThreshold := func(part string) bool { return strings.HasPrefix(part, threshold) }
	rest := slices.DeleteFunc(strings.Split(value, ";"), isThreshold)
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
	next     atomic.Int64 // when the requests that were admitted are used up, in ns since began
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
