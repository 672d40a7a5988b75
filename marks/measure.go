package marks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Errors that Measure and MarkAt wrap. Their messages name the value and the rule.
var (
	// ErrNoMark: the timeline contains no mark with the name (the specification's SyntaxError).
	ErrNoMark = errors.New(
		"no mark of that name on this timeline: mark it first, under the same request and while that runs")
	// ErrReserved: on a request's timeline, the name is reserved for a moment of the request. The
	// reserved names are attributes of PerformanceTiming (SyntaxError).
	ErrReserved = errors.New("the name of a moment that every request has")
	// ErrNoRequest: the process timeline contains no moments of a request, even if a mark uses the
	// name (TypeError).
	ErrNoRequest = errors.New("a moment of a request, and this is the process's timeline")
	// ErrNoTiming: the moment of the request has not happened yet (InvalidAccessError).
	ErrNoTiming = errors.New(
		"this moment of the request has not come, or the service does not tell it")
	// ErrNegative: a time or a duration is negative (TypeError).
	ErrNegative = errors.New("must not be negative")
	// ErrOptions: the options contradict each other (TypeError).
	ErrOptions = errors.New("contradictory options")
)

// A Point identifies a moment on a timeline, by the name of a mark or by a time. The zero Point
// means that no moment is set.
type Point struct {
	kind pointKind
	name string
	at   time.Duration
}

type pointKind uint8

const (
	pointAbsent pointKind = iota
	pointNamed
	pointAt
)

// Named returns the Point of the most recent mark with the given name. On a request's timeline,
// four names of PerformanceTiming refer to moments of the request: "navigationStart",
// "requestStart", "responseStart" and "responseEnd".
func Named(mark string) Point { return Point{kind: pointNamed, name: mark} }

// At returns the Point at the time d since the timeline's origin. Measure returns an error for
// negative times and for times above 146 years.
func At(d time.Duration) Point { return Point{kind: pointAt, at: d} }

// MeasureOptions select the interval of a measure (PerformanceMeasureOptions). Set at most two of
// Start, Duration and End:
//
//   - none: from the timeline's origin until now
//   - Start: from Start until now
//   - End: from the timeline's origin until End
//   - two of the fields: the two fields determine the third
//
// As in the specification, Measure returns an error in these cases:
//
//   - Duration or Detail is set without Start and End. An empty Detail that is not nil counts as
//     set.
//   - Start, End and Duration are all set.
type MeasureOptions struct {
	Start    Point
	End      Point
	Duration *time.Duration // new(5 * time.Millisecond)
	Detail   []slog.Attr    // frozen by the rules of package observer
}

// Measure records a measure of the time between two moments, and returns the measure (User Timing
// 3, measure()). The duration is negative if End lies before Start.
//
// Measure returns an error and records nothing in these cases:
//
//   - ErrNoMark: the timeline contains no mark with the name
//   - ErrNegative: a time or a duration is negative
//   - ErrOptions: the options contradict each other
//   - ErrNoTiming: the moment of the request has not happened yet
//   - ErrNoRequest: a name refers to a moment of a request, but the timeline is a process timeline
//   - a time is more than 146 years from the origin of the process timeline
//
// Under a span that is not recorded, Measure returns the zero Entry. Measure then ignores the names
// of marks, because the marks were not recorded. A histogram of the measure still receives the
// duration of the measure, unless the duration depends on a mark.
func Measure(ctx context.Context, name string, o MeasureOptions) (observer.Entry, error) {
	name = record.Name(name)
	if err := o.check(); err != nil {
		return observer.Entry{}, fmt.Errorf("marks: measure %q: %w", name, err)
	}
	var p record.Place
	p.Locate(ctx)
	wanted := p.WantsMeasure(name)
	entry := wanted && p.To != record.ToMeter
	start, end, err := o.resolve(resolver{p.Timeline, entry})
	if err != nil {
		return observer.Entry{}, fmt.Errorf("marks: measure %q: %w", name, err)
	}
	if wanted && !entry && o.Duration == nil {
		start, end, wanted = o.resolveForMeter(p.Timeline)
	}
	if !wanted {
		return observer.Entry{}, nil
	}
	m, err := p.Timeline.NewEntry(record.Measure, name, start, end-start, o.Detail...)
	if err != nil {
		return observer.Entry{}, err
	}
	p.Queue(m)
	if !entry {
		m = record.Entry{}
	}
	return observer.Entry(m), nil
}

// resolveForMeter resolves the options for the meter, under a span that is not recorded.
// resolveForMeter returns false if the options name a mark, or need the origin of a request without
// a timeline.
func (o *MeasureOptions) resolveForMeter(tl *record.Timeline) (start, end time.Duration, ok bool) {
	needsOrigin := o.End.kind != pointAt || o.Start.kind == pointNamed
	if needsOrigin && tl.Parent() == nil {
		return 0, 0, false
	}
	start, end, err := o.resolve(resolver{tl, true})
	return start, end, err == nil
}

// check rejects options that no timeline can resolve, in the specification's order.
func (o *MeasureOptions) check() error {
	hasStart, hasEnd, hasDuration := o.Start.kind != pointAbsent, o.End.kind != pointAbsent,
		o.Duration != nil
	switch {
	case !hasStart && !hasEnd && (hasDuration || o.Detail != nil):
		given := "Detail"
		if hasDuration {
			given = fmt.Sprintf("Duration %v", *o.Duration)
		}
		return fmt.Errorf("%w: %s is given without Start or End, and one of the two is needed with it", ErrOptions, given)
	case hasStart && hasEnd && hasDuration:
		return fmt.Errorf("%w: Start, Duration %v and End are all given, and two of them determine the third", ErrOptions, *o.Duration)
	}
	return nil
}

// A resolver converts points to times of a timeline ("convert a mark to a timestamp").
type resolver struct {
	tl     *record.Timeline
	lookUp bool // false: the marks were not recorded, and any name resolves to 0
}

func (r resolver) point(p Point, field string) (time.Duration, error) {
	if p.kind == pointAt {
		return r.duration(p.at, field)
	}
	if !r.lookUp {
		return 0, nil
	}
	find, missing := r.tl.Latest, ErrNoMark
	if record.IsTimingName(p.name) {
		// the moment wins over a mark of that name
		if find, missing = r.tl.Timing, ErrNoTiming; r.tl.Parent() == nil {
			missing = ErrNoRequest
		}
	}
	at, ok := find(p.name)
	if !ok {
		return 0, fmt.Errorf("%s %q: %w", field, record.Name(p.name), missing)
	}
	return at, nil
}

func (r resolver) duration(d time.Duration, field string) (time.Duration, error) {
	switch {
	case d < 0:
		return 0, fmt.Errorf("%s %v: %w", field, d, ErrNegative)
	case d > record.MaxTime: // sums could overflow
		return 0, fmt.Errorf("%s %v: must be at most 146 years", field, d)
	}
	return d, nil
}

// resolve computes the end, then the start, so that the end's error wins, as in the specification.
func (o *MeasureOptions) resolve(r resolver) (start, end time.Duration, err error) {
	var length time.Duration
	switch {
	case o.End.kind != pointAbsent:
		end, err = r.point(o.End, "End")
	case o.Start.kind != pointAbsent && o.Duration != nil:
		if start, err = r.point(o.Start, "Start"); err != nil {
			return 0, 0, err
		}
		length, err = r.duration(*o.Duration, "Duration")
		return start, start + length, err
	default:
		end = r.tl.Now()
	}
	if err != nil {
		return 0, 0, err
	}
	switch {
	case o.Start.kind != pointAbsent:
		start, err = r.point(o.Start, "Start")
	case o.Duration != nil:
		length, err = r.duration(*o.Duration, "Duration")
		start = end - length
	}
	return start, end, err
}

// ClearMeasures removes measures from the buffer of ctx's timeline (User Timing 3,
// clearMeasures()). The rules for the parameter names are the same as for [ClearMarks].
func ClearMeasures(ctx context.Context, names ...string) {
	record.FromContext(ctx).Clear(record.Measure, names...)
}
