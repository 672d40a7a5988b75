package observertest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/observer"
)

// A Recorder records the entries of the field Timeline and of all child timelines. A Recorder does
// not record garbage collections ([observer.GC]). A Recorder is safe for concurrent use. The
// timeline runs no tasks in the background. Other observers receive entries only when the test
// calls Entries, Names, Reset or Timeline.Deliver.
type Recorder struct {
	Timeline *observer.Timeline
	Clock    *Clock // of the timeline; the test moves it; nil for [NewTimedRecorder]

	mu      sync.Mutex // guards entries
	entries []observer.Entry
}

// NewRecorder returns a Recorder with a new timeline. The test advances the timeline's clock, the
// field Clock.
func NewRecorder() *Recorder {
	clock := &Clock{}
	return newRecorder(clock, clock.Now)
}

// NewTimedRecorder returns a Recorder with a new timeline that uses the monotonic clock. The field
// Clock is nil.
func NewTimedRecorder() *Recorder { return newRecorder(nil, nil) }

func newRecorder(clock *Clock, now func() time.Duration) *Recorder {
	const noBound = 1 << 30 // the memory of the test is the bound
	r := &Recorder{Clock: clock}
	noTasks := func(func()) {}
	r.Timeline = observer.NewTimeline(
		observer.TimelineOptions{Clock: now, Scheduler: noTasks, MaxPending: noBound})
	types := slices.DeleteFunc(observer.SupportedEntryTypes(),
		func(typ observer.Type) bool { return typ == observer.GC })
	_, err := r.Timeline.Observe(func(l observer.List) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.entries = append(r.entries, l.Entries()...)
	}, observer.Options{Types: types, MaxBuffer: noBound})
	if err != nil {
		panic("observertest: a timeline refuses its own types: " + err.Error())
	}
	return r
}

// Context returns a child context of parent. With this context, the functions of package marks
// record on r's timeline.
func (r *Recorder) Context(parent context.Context) context.Context {
	return observer.NewContext(parent, r.Timeline)
}

// Entries returns the entries that match at least one filter, sorted by start. Without a filter,
// Entries returns all entries. Entries with equal starts stay in the order of recording.
func (r *Recorder) Entries(f ...observer.Filter) []observer.Entry {
	r.Timeline.Deliver()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.DeleteFunc(slices.Clone(r.entries), func(e observer.Entry) bool {
		return len(f) > 0 &&
			!slices.ContainsFunc(f, func(f observer.Filter) bool { return f.Match(&e) })
	})
	slices.SortStableFunc(out,
		func(a, b observer.Entry) int { return cmp.Compare(a.StartTime(), b.StartTime()) })
	return out
}

// Names returns the names of the entries of type typ, in the order that [Recorder.Entries] uses.
func (r *Recorder) Names(typ observer.Type) []string {
	var names []string
	for _, e := range r.Entries(observer.Filter{Type: typ}) {
		names = append(names, e.Name())
	}
	return names
}

// Reset discards the entries that were recorded so far.
func (r *Recorder) Reset() {
	r.Timeline.Deliver()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = nil
}
