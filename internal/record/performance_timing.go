package record

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// timingNames are the attributes of PerformanceTiming (Navigation Timing), which User Timing
// reserves on a Window, in alphabetical order.
var timingNames = []string{
	"connectEnd", "connectStart", "domComplete", "domContentLoadedEventEnd",
	"domContentLoadedEventStart",
	"domInteractive", "domLoading", "domainLookupEnd", "domainLookupStart", "fetchStart",
	"loadEventEnd",
	"loadEventStart", NavigationStart, "redirectEnd", "redirectStart", RequestStart, ResponseEnd,
	ResponseStart,
	"secureConnectionStart", "unloadEventEnd", "unloadEventStart",
}

// The timing names that a server has values for.
const (
	NavigationStart = "navigationStart" // the request timeline's origin
	RequestStart    = "requestStart"    // the request has arrived
	ResponseStart   = "responseStart"   // the first byte of the response was written
	ResponseEnd     = "responseEnd"     // the handler has returned
)

// timings are when the moments of a request were, plus one; 0 for one that has not come.
type timings struct{ requestStart, responseStart, responseEnd atomic.Int64 }

// of returns the place of a moment, nil for one that a server has no value for.
func (t *timings) of(name string) *atomic.Int64 {
	switch name {
	case RequestStart:
		return &t.requestStart
	case ResponseStart:
		return &t.responseStart
	case ResponseEnd:
		return &t.responseEnd
	}
	return nil
}

// SetRoute sets the route of the request.
func (u *Unit) SetRoute(route string) {
	route = Name(route)
	u.route.Store(&route)
}

// Route returns the route that SetRoute has set last, and "" without one.
func (u *Unit) Route() string {
	if route := u.route.Load(); route != nil {
		return *route
	}
	return ""
}

// IsTimingName reports whether name is one of the 21 attributes of PerformanceTiming, which are
// moments of a request on its timeline.
func IsTimingName(name string) bool {
	_, found := slices.BinarySearch(timingNames, name)
	return found
}

// SetTiming says when a moment of t's request was, since t's origin: a measure can start or end
// there. The last call counts. These are errors:
//
//   - a process timeline, which has none of these moments (it is a Worker)
//   - a name other than [RequestStart], [ResponseStart] and [ResponseEnd]
//   - a time that is negative or above [MaxTime]
func (t *Timeline) SetTiming(name string, at time.Duration) error {
	if t.unit == nil {
		return fmt.Errorf("record: SetTiming %q: only a request's timeline has timings, not the process's", Name(name))
	}
	moment := t.unit.timings.of(name)
	if moment == nil {
		return fmt.Errorf("record: SetTiming %q: must be one of %s, %s and %s", Name(name),
			RequestStart, ResponseStart, ResponseEnd)
	}
	if at < 0 || at > MaxTime {
		return fmt.Errorf("record: SetTiming %q: %v: must not be negative, and at most 146 years",
			name, at)
	}
	moment.Store(int64(at) + 1)
	return nil
}

// Timing returns when a moment of t's request was, since t's origin. ok is false if it has not
// come. [NavigationStart] is 0 (User Timing 3, "convert a mark to a timestamp").
func (t *Timeline) Timing(name string) (at time.Duration, ok bool) {
	if t.unit == nil {
		return 0, false
	}
	if name == NavigationStart {
		return 0, true
	}
	moment := t.unit.timings.of(name)
	if moment == nil || moment.Load() == 0 {
		return 0, false
	}
	return time.Duration(moment.Load() - 1), true
}
