package spanlabels

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
)

// A Scope says which spans samples name, or which spans carry an attribute. Its zero
// value is what the place where it is used says.
type Scope uint8

// The scopes.
const (
	// EverySpan is the span that was active on the goroutine: the innermost.
	EverySpan Scope = iota + 1
	// LocalRoots is the first span of the trace in this process, for a request its server
	// span, whichever span under it was active. As long as no profiler wants every span,
	// others cost next to nothing. Code that goes on when that span has ended counts for
	// none, or for a span of its own. A profiler that knows only the text of labels names
	// the active span while another one wants every span.
	LocalRoots
)

// wanted counts the profilers that want goroutines to be labelled. In units of everySpan it counts
// the ones that want it for every span.
var wanted atomic.Int64

const everySpan = 1 << 32

// Enabled reports whether goroutines are labelled.
func Enabled() bool { return wanted.Load() > 0 }

// Wanted returns the widest scope that a profiler wants, 0 if goroutines are not labelled.
func Wanted() Scope {
	switch want := wanted.Load(); {
	case want >= everySpan:
		return EverySpan
	case want > 0:
		return LocalRoots
	default:
		return 0
	}
}

// Hold has spans that begin from now on label their goroutines, as a profiler of that scope
// needs it, until release is called. Release may be called more than once. 0 means EverySpan.
func Hold(scope Scope) (release func()) {
	n := int64(everySpan + 1)
	if scope == LocalRoots {
		n = 1
	}
	wanted.Add(n)
	var released atomic.Bool
	return func() {
		if !released.Swap(true) {
			wanted.Add(-n)
		}
	}
}

// isLocalRoot reports whether s is the first span of its trace in this process, for all
// that was known when it began.
func (s *Span) isLocalRoot() bool { return s.named == nil && s.root.SpanID() == s.SpanID() }

// isSpan reports whether s labels for the span that it began with, and not for the local
// root in its place.
func (s *Span) isSpan() bool { return s.named == nil }

// profileID is the attribute by which Pyroscope's span profiles are found.
const profileID = attribute.Key("pyroscope.profile.id")

// ProfileID returns the attribute pyroscope.profile.id, by which Grafana finds the samples of a
// span. Its value is the span's id in hexadecimal, as in the label span_id. ok is false for a
// span that is not of the scope, and for one that labels for its local root. 0 has no spans.
func (s *Span) ProfileID(scope Scope) (id attribute.KeyValue, ok bool) {
	if s == nil || scope == 0 || !s.isSpan() || scope == LocalRoots && !s.isLocalRoot() {
		return attribute.KeyValue{}, false
	}
	return profileID.String(s.SpanID().String()), true
}
