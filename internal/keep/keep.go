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

	// A service may have no request of defaultSlow. defaultFactor finds the slow requests of such a
	// service. By definition, at most one request in 20 exceeds the usual duration of the route.
	// One in 8000 exceeds three times the usual duration if durations are exponential, and one in
	// 330 if durations are log-normal with σ = 1. A factor of 2 would find three to twenty times as
	// many. defaultSlow stays in force, because a route that always takes two seconds needs an
	// explanation, too.
	defaultFactor = 3
	// defaultFloor keeps a time slice of the scheduler (10 ms) or a collection from making a fast
	// request slow.
	defaultFloor = 50 * time.Millisecond

	// insideShare divides PerSecond: the ceiling of requests with only an error inside.
	insideShare = 4
)

// SlowRule returns the rule that defines slow requests. explained reports whether something asks
// why requests are slow. Then routes without a configured threshold have a relative one.
func (p Policy) SlowRule(explained bool) *routes.SlowRule {
	rule := &routes.SlowRule{
		Fixed: cmp.Or(p.Slow, defaultSlow), Routes: maps.Clone(p.Routes), Factor: p.Factor,
	}
	if explained && p.Slow == 0 && p.Factor == 0 {
		rule.Factor, rule.Floor = defaultFactor, defaultFloor
	}
	return rule
}

// A Keeper decides which requests a policy keeps.
type Keeper struct {
	policy          Policy
	table           *routes.Table // has the thresholds of routes
	ceiling, inside ceiling       // inside is for requests with only an error inside
}

// New returns a Keeper. The rule of table defines slow requests.
func New(p Policy, table *routes.Table) *Keeper {
	k := &Keeper{policy: p, table: table}
	n := cmp.Or(p.PerSecond, defaultPerSecond)
	k.ceiling.begin(n)
	if n > 0 {
		n = max(1, n/insideShare)
	}
	k.inside.begin(n)
	return k
}

// A Request describes the end of a request.
type Request struct {
	Class       local.Class
	Name        string
	Took        time.Duration
	Failed      bool // the local root failed
	ErrorInside bool // a span under the local root failed
	Chosen      bool // the program called marks.Keep
}

// A Decision reports whether a request is kept, and the reason.
type Decision struct {
	Reason      local.KeepReason
	Slow        bool             // the request was slow, kept or not; also an inner request
	OverCeiling local.KeepReason // the reason of a request that a ceiling dropped
}

// Decide decides whether to keep a request. Decide may be called concurrently.
func (k *Keeper) Decide(q *Request) (d Decision) {
	from, _ := k.table.SlowFrom(q.Class, q.Name)
	d.Slow = from.IsReachedBy(q.Took)
	inside := q.ErrorInside && !k.policy.WithoutFailed
	switch {
	case q.Chosen:
		d.Reason = local.KeptForProgram
	case q.Failed && !k.policy.WithoutFailed:
		d.Reason = local.KeptForFailure
	case d.Slow && q.Class != local.Inner: // the request around it is the one to keep
		d.Reason = local.KeptForTime
	case inside && k.inside.admit():
		d.Reason = local.KeptForErrorInside
		return d
	case k.policy.Share > 0 && rand.Float64() < k.policy.Share:
		d.Reason = local.KeptForShare
	case inside:
		d.OverCeiling = local.KeptForErrorInside
	}
	if d.Reason != local.NotKept && !k.ceiling.admit() {
		d.Reason, d.OverCeiling = local.NotKept, d.Reason
	}
	return d
}

// Exports reports whether exporters receive a kept request that the sampler dropped. An error
// inside may be a normal answer of the program, and such requests may be most of all.
func (k *Keeper) Exports(reason local.KeepReason) bool {
	return k.policy.Export && reason != local.KeptForErrorInside
}

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

// begin sets the ceiling to n requests in a second. A negative n means no ceiling.
func (c *ceiling) begin(n int) {
	c.began = time.Now()
	c.next.Store(-int64(time.Second))
	if n > 0 {
		c.interval = max(1, time.Second/time.Duration(n))
	}
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
