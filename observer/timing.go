package observer

import (
	"fmt"
	"slices"
	"time"
)

// timingNames are the attributes of PerformanceTiming (Navigation Timing), which
// User Timing reserves on a Window, in alphabetical order.
var timingNames = []string{
	"connectEnd", "connectStart", "domComplete", "domContentLoadedEventEnd", "domContentLoadedEventStart",
	"domInteractive", "domLoading", "domainLookupEnd", "domainLookupStart", "fetchStart", "loadEventEnd",
	"loadEventStart", NavigationStart, "redirectEnd", "redirectStart", RequestStart, ResponseEnd, ResponseStart,
	"secureConnectionStart", "unloadEventEnd", "unloadEventStart",
}

// The timing names that a server has values for.
const (
	NavigationStart = "navigationStart" // the request timeline's origin
	RequestStart    = "requestStart"    // the request has arrived
	ResponseStart   = "responseStart"   // the first byte of the response was written
	ResponseEnd     = "responseEnd"     // the handler has returned
)

// A timing is the value of one of timingNames.
type timing struct {
	name string
	at   time.Duration
}

// IsTimingName reports whether name is one of the 21 attributes of
// PerformanceTiming, such as "responseStart". On a request's timeline they stand
// for moments of the request.
func IsTimingName(name string) bool {
	_, found := slices.BinarySearch(timingNames, name)
	return found
}

// SetTiming says when a moment of t's request was, since t's origin, so that a
// measure can start or end there. Setting it again replaces it. A process
// timeline has none of these moments (it is a Worker): that is an error, as are
// a name that is not a timing name, [NavigationStart], which is always the
// origin, and a negative time.
func (t *Timeline) SetTiming(name string, at time.Duration) error {
	switch {
	case t.parent == nil:
		return fmt.Errorf("observer: SetTiming %q: only a request's timeline has timings, not the process's", name)
	case name == NavigationStart || !IsTimingName(name):
		return fmt.Errorf("observer: SetTiming %q: must be one of the attributes of PerformanceTiming but navigationStart", name)
	case at < 0:
		return fmt.Errorf("observer: SetTiming %q: %v: must not be negative", name, at)
	}
	t.logMu.Lock()
	defer t.logMu.Unlock()
	for i := range t.timings {
		if t.timings[i].name == name {
			t.timings[i].at = at
			return nil
		}
	}
	if t.timings == nil {
		t.timings = make([]timing, 0, 3) // what a server tells
	}
	t.timings = append(t.timings, timing{name, at})
	return nil
}

// Timing is when a moment of t's request was, since t's origin; ok is false when
// it has not come. [NavigationStart] is 0 (User Timing 3, "convert a mark to a
// timestamp").
func (t *Timeline) Timing(name string) (at time.Duration, ok bool) {
	if t.parent == nil {
		return 0, false
	}
	if name == NavigationStart {
		return 0, true
	}
	t.logMu.Lock()
	defer t.logMu.Unlock()
	for _, m := range t.timings {
		if m.name == name {
			return m.at, true
		}
	}
	return 0, false
}
