package record

import (
	"log/slog"
	"time"
)

// A Meter aggregates the durations of measures. It gets every measure whose name it wants, once,
// under any span or none. Its methods are called on the goroutine that records, concurrently and
// without a lock. They must not block or panic.
type Meter interface {
	// Wants reports whether the meter aggregates measures of a name. The answer may change.
	Wants(name string) bool

	// Measured takes a measure that has ended, and that has been recorded if anything else wants
	// it. span is the [Opened] of the measure, or the span that the measure was recorded under, or
	// nil. The other arguments are as in [Measured].
	Measured(span any, name string, duration time.Duration, attrs []slog.Attr, failure *Failure)
}

// WantsMeasure reports whether a measure of that name is recorded there, as an entry or by the
// meter. If only the meter wants it, the place becomes one for the meter alone.
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

// metered reports whether a measure goes to end.
func (p *Place) metered() bool {
	return p.To == ToMeter ||
		p.Timeline.root.meters.last.Load() != nil
}

// meter gives a measure to the meter, if there is one that wants it.
func (p *Place) meter(span Opened, name string, duration time.Duration, attrs []slog.Attr,
	failure *Failure) {
	if m := p.Timeline.root.meters.last.Load(); m != nil && (*m).Wants(name) {
		p.measured(*m, span, name, duration, attrs, failure)
	}
}

// measured copies the attributes, as pass does.
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
