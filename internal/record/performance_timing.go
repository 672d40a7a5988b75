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

// SetRoute sets the route of the request. The program's route replaces a route of
// [Unit.FoundRoute]. The last call of SetRoute sets the route.
func (u *Unit) SetRoute(route string) {
	r := &requestRoute{name: Name(route)}
	u.route.Store(r)
	u.MirrorRoute(r.name)
}

// FoundRoute sets the route of the request to the route of a span inside the request. FoundRoute
// does nothing if route is empty or if the request already has a route.
func (u *Unit) FoundRoute(route string) {
	if route != "" {
		if r := (&requestRoute{name: Name(route), found: true}); u.route.CompareAndSwap(nil, r) {
			u.MirrorRoute(r.name)
		}
	}
}

// Route returns the route of the request, or "" if the route is unknown. found is true if
// [Unit.FoundRoute] set the route.
func (u *Unit) Route() (route string, found bool) {
	if r := u.route.Load(); r != nil {
		return r.name, r.found
	}
	return "", false
}

// IsTimingName reports whether name is one of the 21 attributes of the interface PerformanceTiming
// (Navigation Timing).
func IsTimingName(name string) bool {
	_, found := slices.BinarySearch(timingNames, name)
	return found
}

// SetTiming sets the time of a moment of t's request. The parameter name is the name of the moment.
// The time is relative to t's origin. A measure can then start or end at the moment. A later call
// for the same moment replaces the time. SetTiming returns an error in these cases:
//
//   - t is a process timeline. Like the timeline of a Worker, a process timeline records no
//     moments.
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

// Timing returns the time of a moment of t's request, relative to t's origin. ok is false if
// [Timeline.SetTiming] has not set the time of the moment. The time of [NavigationStart] is always
// 0 (User Timing 3, "convert a mark to a timestamp"). For a process timeline, ok is always false.
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
