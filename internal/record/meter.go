package record

import (
	"log/slog"
	"time"
)

// A Meter aggregates the durations of measures. If Wants returns true for the name of a measure,
// the timeline passes the measure to the meter once. The measure may belong to any span or to no
// span. The timeline calls the methods on the goroutine that records, concurrently and without a
// lock. The methods must not block or panic.
type Meter interface {
	// Wants reports whether the meter aggregates measures with the given name. The result may
	// change.
	Wants(name string) bool

	// Measured aggregates one measure. The timeline and the tracer process the measure first. span
	// is the [Opened] of the measure, or else the parent span, or nil. [Measured] describes the
	// other arguments.
	Measured(span any, name string, duration time.Duration, attrs []slog.Attr, failure *Failure)
}

// WantsMeasure reports whether the timeline, the tracer or the meter wants a measure with the name.
// If only the meter wants the measure, WantsMeasure sets p.To to ToMeter.
func (p *Place) WantsMeasure(name string) bool {
	if p.Wants(Measure) {
		return true
	}
	m := p.Timeline.root.meters.last.Load()
	if m == nil || !(*m).Wants(name) {
		return false
	}
	p.To = ToMeter
	return true
}

// meter gives a measure to the meter, if the meter wants the measure.
func (p *Place) meter(span Opened, name string, duration time.Duration, attrs []slog.Attr,
	failure *Failure) {
	if m := p.Timeline.root.meters.last.Load(); m != nil && (*m).Wants(name) {
		p.measured(*m, span, name, duration, attrs, failure)
	}
}

// measured copies the attributes, as trace does.
//
//go:noinline
func (p *Place) measured(m Meter, span Opened, name string, duration time.Duration,
	attrs []slog.Attr, failure *Failure) {
	of := p.Under
	if span != nil {
		of = span
	}
	if len(attrs) == 0 {
		m.Measured(of, name, duration, nil, failure)
		return
	}
	copied := attrLists.Get().(*[]slog.Attr)
	*copied = append((*copied)[:0], attrs...)
	m.Measured(of, name, duration, *copied, failure)
	if cap(*copied) <= maxCopied {
		clear(*copied)
		attrLists.Put(copied)
	}
}
