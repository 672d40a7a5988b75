// Package keep decides which requests a bridge.KeepPolicy keeps, and counts the requests that the
// policy drops.
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

// Policy contains the fields of bridge.KeepPolicy.
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

const (
	defaultSlow      = time.Second
	defaultPerSecond = 20
)

// A Keeper decides which requests a policy keeps.
type Keeper struct {
	policy  Policy
	table   *routes.Table // the usual durations of routes; used only if policy.Factor is set
	ceiling ceiling
}

// New returns a Keeper. If p.Factor is positive, table must not be nil.
func New(p Policy, table *routes.Table) *Keeper {
	k := &Keeper{policy: p, table: table}
	k.policy.Slow = cmp.Or(p.Slow, defaultSlow)
	k.policy.Routes = maps.Clone(p.Routes)
	k.ceiling.began = time.Now()
	k.ceiling.next.Store(-int64(time.Second))
	if n := cmp.Or(p.PerSecond, defaultPerSecond); n > 0 {
		k.ceiling.interval = max(1, time.Second/time.Duration(n))
	}
	return k
}

// A Decision reports whether a request is kept, and the reason.
type Decision struct {
	Reason      local.KeepReason
	Slow        bool // the request was slow, kept or not
	OverCeiling bool // the request had a reason, but the ceiling dropped it
}

// Decide decides whether to keep the request of a local root. failed reports whether the root or a
// span under the root failed. chosen reports whether the program called marks.Keep. Decide may be
// called concurrently.
func (k *Keeper) Decide(class local.Class, name string, took time.Duration,
	failed, chosen bool) Decision {
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

func (k *Keeper) isSlow(class local.Class, name string, took time.Duration) bool {
	if class == local.Stream {
		return false
	}
	threshold, ok := k.policy.Routes[name]
	if !ok {
		threshold = k.policy.Slow
	}
	slow := threshold >= 0 && took >= threshold
	if k.policy.Factor > 0 {
		usual := k.table.Usual(class, name)
		slow = slow || usual > 0 && float64(took) >= k.policy.Factor*float64(usual)
	}
	return slow
}

// Exports reports whether exporters receive kept requests that the sampler dropped.
func (k *Keeper) Exports() bool { return k.policy.Export }

// WithoutThreshold returns state without the sampling threshold, which is the sub-key th of the
// member ot. Backends extrapolate from the threshold. Backends count a span without a threshold
// once.
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

// A ceiling admits one request in each interval. Unused intervals of the last second add up.
type ceiling struct {
	interval time.Duration // 0 for no ceiling
	began    time.Time
	next     atomic.Int64 // the end of the last admitted interval, in ns since began
}

func (c *ceiling) admit() bool {
	if c.interval == 0 {
		return true
	}
	now := int64(time.Since(c.began))
	for {
		last := c.next.Load()
		next := max(last, now-int64(time.Second)) + int64(c.interval)
		if next > now {
			return false
		}
		if c.next.CompareAndSwap(last, next) {
			return true
		}
	}
}
