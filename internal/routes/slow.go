package routes

import (
	"fmt"
	"math"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/text"
)

// A SlowRule defines the duration from which a request is slow.
type SlowRule struct {
	Fixed  time.Duration            // the threshold of all routes; negative for none
	Routes map[string]time.Duration // thresholds of single routes, in place of Fixed
	Factor float64                  // of the usual duration: a second threshold; 0 for none

	// Floor, if positive, is the least threshold by Factor. Routes with a threshold of their own
	// have no threshold by Factor then.
	Floor time.Duration
}

// A Threshold is the duration from which requests of a route are slow.
type Threshold struct {
	From   time.Duration // negative: requests are never slow
	Factor float64       // From is this multiple of Usual, unless another bound decides; 0 for none
	Usual  time.Duration // see [Table.Usual]; 0 without Factor, or if unknown
}

// SetSlowRule sets the rule of [Table.SlowFrom]. The caller must not change the rule afterwards.
func (t *Table) SetSlowRule(s *SlowRule) { t.slow.Store(s) }

// SlowFrom returns the threshold of a route. SlowFrom returns false if requests of the class are
// never slow, or if the table has no rule. SlowFrom takes no lock.
func (t *Table) SlowFrom(class local.Class, name string) (Threshold, bool) {
	rule := t.slow.Load()
	if rule == nil || class != local.Request && class != local.Inner {
		return Threshold{From: -1}, false
	}
	at := Threshold{From: rule.Fixed, Factor: rule.Factor}
	if own, ok := rule.Routes[name]; ok {
		at.From = own
		if rule.Floor > 0 {
			at.Factor = 0
		}
	}
	if at.Factor == 0 {
		return at, true
	}
	if at.Usual = t.Usual(class, name); at.Usual > 0 {
		if relative := max(rule.Floor, at.relative()); at.From < 0 || relative < at.From {
			at.From = relative
		}
	}
	return at, true
}

// relative returns Factor times Usual.
func (at Threshold) relative() time.Duration {
	d := at.Factor * float64(at.Usual)
	if d >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(d)
}

// IsReachedBy reports whether a request of a duration is slow.
func (at Threshold) IsReachedBy(took time.Duration) bool { return at.From >= 0 && took >= at.From }

// String returns the threshold and its reason, such as "slow from 120 ms (3 × the usual 40 ms)".
func (at Threshold) String() string {
	from := "never slow"
	if at.From >= 0 {
		from = "slow from " + text.Length(at.From)
	}
	if at.Factor == 0 {
		return from
	}
	if at.Usual == 0 {
		return fmt.Sprintf("%s (%v × the usual after %d requests)", from, at.Factor, minUsual)
	}
	is := ""
	switch relative := at.relative(); {
	case relative > at.From:
		is = " is more"
	case relative < at.From:
		is = " is less"
	}
	return fmt.Sprintf("%s (%v × the usual %s%s)", from, at.Factor, text.Length(at.Usual), is)
}
