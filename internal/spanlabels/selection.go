package spanlabels

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
)

// A Selection says which spans the samples of a profiler name. It is profiling.Selection, whose
// comment has the details.
type Selection uint8

// The selections.
const (
	LocalRoots Selection = iota // the first spans of their traces in this process
	EverySpan                   // the innermost span that is active on the goroutine
)

// A demand counts the profilers that want something of spans. In units of everySpan it counts the
// ones that select every span.
type demand struct{ atomic.Int64 }

const everySpan = 1 << 32

var (
	labels     demand // for labels of goroutines
	profileIDs demand // for the attribute pyroscope.profile.id
)

// some and every report whether a profiler wants it of local roots at least, and of every span.
func (d *demand) some() bool  { return d.Load() > 0 }
func (d *demand) every() bool { return d.Load() >= everySpan }

// add counts one more profiler until release is called.
func (d *demand) add(spans Selection) (release func()) {
	n := int64(1)
	if spans == EverySpan {
		n += everySpan
	}
	d.Add(n)
	var released atomic.Bool
	return func() {
		if !released.Swap(true) {
			d.Add(-n)
		}
	}
}

// Enabled reports whether spans label their goroutines.
func Enabled() bool { return labels.some() }

// Hold makes spans that begin from now on label their goroutines, until release is called.
// Profilers call it. Release may be called more than once.
func Hold(spans Selection) (release func()) { return labels.add(spans) }

// HoldProfileIDs makes the selected spans carry the attribute pyroscope.profile.id, until release
// is called: a Pyroscope server that gets the samples shows them for such a span. Spans carry it
// only if they begin while goroutines are labelled. Release may be called more than once.
func HoldProfileIDs(spans Selection) (release func()) { return profileIDs.add(spans) }

// isLocalRoot reports whether s is the first span of its trace in this process, as far as that was
// known when it began.
func (s *Span) isLocalRoot() bool { return s.named == nil && s.root.SpanID() == s.SpanID() }

// isSpan reports whether s labels for the span that it began with, and not for the local root in
// its place.
func (s *Span) isSpan() bool { return s.named == nil }

// profileID is the attribute by which Grafana finds the profile of a span.
const profileID = attribute.Key("pyroscope.profile.id")

// ProfileID returns the attribute pyroscope.profile.id. Its value is the span's id in hexadecimal,
// as in the label span_id. ok is false if no holder of [HoldProfileIDs] selects the span, and for a
// span that labels for its local root.
func (s *Span) ProfileID() (id attribute.KeyValue, ok bool) {
	if s == nil || !profileIDs.some() || !s.isSpan() || !profileIDs.every() && !s.isLocalRoot() {
		return attribute.KeyValue{}, false
	}
	return profileID.String(s.SpanID().String()), true
}
