package marks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/observer"
)

// Names that User Timing recommends, so that tools find them across services
// (User Timing 3, recommended mark names). Using them is a choice.
const (
	FullyLoaded  = "mark_fully_loaded"  // everything needed is there
	FullyVisible = "mark_fully_visible" // the essential part is shown
	Interactive  = "mark_interactive"   // ready for input
	FeatureUsage = "mark_feature_usage" // a feature is used; its detail has "feature", perhaps "framework"
)

// Mark records that name happened now (User Timing 3, mark()).
//
// Since it cannot fail, it also takes the names that MarkAt and NewMark refuse on
// a request's timeline; Measure does not find such a mark, but the moment of the
// request that has the name.
//
// If a method of an attribute calls [runtime.Goexit], the mark is recorded; MarkAt and
// Measure record nothing then. See [observer.Freeze].
func Mark(ctx context.Context, name string, attrs ...slog.Attr) {
	var p observer.Place
	p.Locate(ctx)
	if p.Wants(observer.Mark) {
		p.Record(observer.Mark, name, p.Timeline.Now(), 0, attrs)
	}
}

// MarkAt records that name happened at the given time since the origin of ctx's
// timeline, and returns the mark (User Timing 3, mark() with startTime). A
// negative time is ErrNegative, and on a request's timeline the name of a moment
// of the request ("responseStart") ErrReserved. A time out of range is an error too,
// see [observer.MaxTime]. Nothing is recorded then. Where nothing wants a mark
// (under a span that is not recorded) it is not recorded, and returned without its
// attributes. To mark a time.Time, pass observer.FromContext(ctx).Since(t).
func MarkAt(ctx context.Context, name string, at time.Duration, attrs ...slog.Attr) (observer.Entry, error) {
	var p observer.Place
	p.Locate(ctx)
	if !p.Wants(observer.Mark) {
		return NewMarkAt(ctx, name, at)
	}
	m, err := NewMarkAt(ctx, name, at, attrs...)
	if err == nil {
		p.Queue(m)
	}
	return m, err
}

// NewMark makes a mark of now without recording it (the PerformanceMark
// constructor). It refuses what MarkAt refuses, and freezes the attributes.
// [observer.Timeline.Queue] records the mark.
func NewMark(ctx context.Context, name string, attrs ...slog.Attr) (observer.Entry, error) {
	return NewMarkAt(ctx, name, observer.FromContext(ctx).Now(), attrs...)
}

// NewMarkAt is NewMark with a time since the timeline's origin, which must not
// be negative nor out of range.
func NewMarkAt(ctx context.Context, name string, at time.Duration, attrs ...slog.Attr) (observer.Entry, error) {
	tl := observer.FromContext(ctx)
	if tl.Parent() != nil && observer.IsTimingName(name) {
		return observer.Entry{}, fmt.Errorf("marks: mark %q: %w: choose another name", name, ErrReserved)
	}
	if at < 0 {
		return observer.Entry{}, fmt.Errorf("marks: mark %q at %v: %w", name, at, ErrNegative)
	}
	return tl.NewEntry(observer.Mark, name, at, 0, attrs...)
}

// ClearMarks removes marks from the buffer of ctx's timeline (User Timing 3,
// clearMarks()): without names all of them, else those that have one of the names.
// The name "" selects the marks whose name is empty. Measures, and what observers
// have not been given yet, stay.
func ClearMarks(ctx context.Context, names ...string) {
	observer.FromContext(ctx).Clear(observer.Mark, names...)
}
