package spanlabels

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
)

// A Selection selects spans. The samples of a profiler contain the names and ids of the selected
// spans. See profiling.Selection.
type Selection uint8

// The selections.
const (
	LocalRoots Selection = iota // the first spans of their traces in this process
	EverySpan                   // the innermost span that is active on the goroutine
)

// A demand counts profilers. It is the number of profilers, plus everySpan for each profiler that
// selects every span.
type demand struct{ atomic.Int64 }

const everySpan = 1 << 32

var (
	labels     demand // for labels of goroutines
	profileIDs demand // for the attribute pyroscope.profile.id
)

// some reports whether a profiler selects at least local roots.
func (d *demand) some() bool { return d.Load() > 0 }

// every reports whether a profiler selects every span.
func (d *demand) every() bool { return d.Load() >= everySpan }

// add counts a profiler until release is called.
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

// Enabled reports whether a new span labels the goroutine that starts the span.
func Enabled() bool { return labels.some() }

// Hold enables labels of new spans until the caller calls release. A span labels the goroutine that
// starts the span. Profilers call Hold. Further calls of release do nothing.
func Hold(spans Selection) (release func()) { return labels.add(spans) }

// HoldProfileIDs adds the attribute pyroscope.profile.id to the selected spans until the caller
// calls release. See profiling.HoldProfileIDs. Further calls of release do nothing.
func HoldProfileIDs(spans Selection) (release func()) { return profileIDs.add(spans) }

// isLocalRoot reports whether s was the first known span of its trace in this process when it
// began.
func (s *Span) isLocalRoot() bool { return s.named == nil && s.root.SpanID() == s.SpanID() }

// isSpan reports whether s labels for its own span, and not for the local root.
func (s *Span) isSpan() bool { return s.named == nil }

// profileID is the attribute by which Grafana finds the profile of a span.
const profileID = attribute.Key("pyroscope.profile.id")

// ProfileID returns the attribute pyroscope.profile.id. The value is the hexadecimal id of the
// span, as in the label span_id. ok is false in these cases:
//
//   - No caller of [HoldProfileIDs] selects the span.
//   - The labels of s contain the id of the local root instead of the id of the span.
//   - s is nil.
func (s *Span) ProfileID() (id attribute.KeyValue, ok bool) {
	if s == nil || !profileIDs.some() || !s.isSpan() || !profileIDs.every() && !s.isLocalRoot() {
		return attribute.KeyValue{}, false
	}
	return profileID.String(s.SpanID().String()), true
}
