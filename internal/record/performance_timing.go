package record

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// timingNames are the attributes of PerformanceTiming (Navigation Timing) in alphabetical order.
// User Timing reserves these names on a Window.
var timingNames = []string{
	"connectEnd", "connectStart", "domComplete", "domContentLoadedEventEnd",
	"domContentLoadedEventStart", "domInteractive", "domLoading", "domainLookupEnd",
	"domainLookupStart", "fetchStart", "loadEventEnd", "loadEventStart", NavigationStart,
	"redirectEnd", "redirectStart", RequestStart, ResponseEnd, ResponseStart,
	"secureConnectionStart", "unloadEventEnd", "unloadEventStart",
}

// The timing names that apply to a server.
const (
	NavigationStart = "navigationStart" // the request timeline's origin
	RequestStart    = "requestStart"    // the request has arrived
	ResponseStart   = "responseStart"   // the first byte of the response was written
	ResponseEnd     = "responseEnd"     // the handler has returned
)

// momentNames are the names that SetTiming takes.
var momentNames = []string{RequestStart, ResponseStart, ResponseEnd}

// timings are the times of a request's moments, plus one; 0 means that the moment has not come.
type timings [3]atomic.Int64

// moment returns the time of a moment, or nil for a name that does not apply to a server.
func (t *timings) moment(name string) *atomic.Int64 {
	if i := slices.Index(momentNames, name); i >= 0 {
		return &t[i]
	}
	return nil
}

// A requestRoute is the route of a request.
type requestRoute struct {
	name  string
	found bool // by FoundRoute
}

// SetRoute sets the route of the request, for the program. The last call sets the route.
func (u *Unit) SetRoute(route string) { u.route.Store(&requestRoute{name: Name(route)}) }

// FoundRoute stores the route that a span inside the request contains, unless the request has a
// route.
func (u *Unit) FoundRoute(route string) {
	if route != "" {
		u.route.CompareAndSwap(nil, &requestRoute{name: Name(route), found: true})
	}
}

// Route returns the route of the request, or "". If found is true, a span inside the request
// contained the route, and the program did not set a route.
func (u *Unit) Route() (route string, found bool) {
	if r := u.route.Load(); r != nil {
		return r.name, r.found
	}
	return "", false
}

// IsTimingName reports whether PerformanceTiming defines an attribute with this name.
// PerformanceTiming defines 21 attributes.
func IsTimingName(name string) bool {
	_, found := slices.BinarySearch(timingNames, name)
	return found
}

// SetTiming sets the time of a moment of t's request, relative to t's origin. A measure can then
// start or end at the moment. A later call for the same moment replaces the time. SetTiming returns
// an error in these cases:
//
//   - t is a process timeline, because a process timeline records no moments (it is a Worker)
//   - name is not [RequestStart], [ResponseStart] or [ResponseEnd]
//   - the time is negative or above [MaxTime]
func (t *Timeline) SetTiming(name string, at time.Duration) error {
	if t.unit == nil {
		return fmt.Errorf("record: SetTiming %q: only a request's timeline has timings, not the process's", Name(name))
	}
	moment := t.unit.timings.moment(name)
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

// Timing returns the time of a moment of t's request, relative to t's origin. ok is false if the
// time of the moment is not set yet. [NavigationStart] is 0 (User Timing 3, "convert a mark to a
// timestamp").
func (t *Timeline) Timing(name string) (at time.Duration, ok bool) {
	if t.unit == nil {
		return 0, false
	}
	if name == NavigationStart {
		return 0, true
	}
	moment := t.unit.timings.moment(name)
	if moment == nil || moment.Load() == 0 {
		return 0, false
	}
	return time.Duration(moment.Load() - 1), true
}
