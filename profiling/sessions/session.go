package sessions

import (
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

// A Session is what was recorded between a start and a stop (Scope Profiler, Session).
// It does not change, and lives as long as it is referred to, also when its Recorder has
// released it.
type Session struct{}

// A Timeline is a tree of events (Scope Profiler, Timeline): of a request, of something that a
// request did at the same time, of the process, or of the garbage collector.
type Timeline struct {
	ID      TimelineID
	FrameID FrameID // timelines with the same one belong to one request
	Name    string  // of the request, as "GET /products/{id}", else "process" or "gc"
	Lane    int     // from 0, among the timelines of its frame; 0 has the request itself

	TraceID trace.TraceID // of the request, zero if it had no span that was sampled
	SpanID  trace.SpanID

	Interval           Interval // of all its events
	Events             int      // how many there are
	Samples            int      // how many samples were taken in them
	ChildCount         uint32   // of them at the top level
	AggregatedTime     time.Duration
	AggregatedOverhead time.Duration
}

// Stats count what a session met.
type Stats struct {
	Events      uint64 // in all timelines, groups of samples included
	Entries     uint64 // of the timeline that were taken
	Dropped     uint64 // entries over Config.MaxEvents
	Lost        uint64 // entries lost before they came to the session: it was behind, or the timeline's buffers were full
	Samples     uint64
	Profiling   profiling.Stats // of the sampler
	SamplesFull bool            // the sampler stopped before the session did, at Config.MaxSamples
}

// A Recording is what a session is made of.
type Recording struct {
	Started time.Time     // must carry a monotonic reading, as time.Now does, if the entries' times do
	Length  time.Duration // must not be negative
	Entries iter.Seq[observer.Entry]
	Trace   *profiling.Trace // nil without samples
}

// Of makes a session of what somebody else recorded, such as an observer of the program's
// own. Its ID is 1. It knows of no overhead and of no time of the process.
func Of(r Recording) (*Session, error) { return nil, nil }

// ID is the session's.
func (s *Session) ID() SessionID { return 0 }

// Started is when it began, the zero of its times.
func (s *Session) Started() time.Time { return time.Time{} }

// Length is how long it recorded.
func (s *Session) Length() time.Duration { return 0 }

// Stats are its counts.
func (s *Session) Stats() Stats { return Stats{} }

// Trace has the samples, nil if there were none to be had. Its timestamps are since its own Origin.
func (s *Session) Trace() *profiling.Trace { return nil }

// Timelines are all timelines: first the process's frame, the collector's, then those of requests by
// their start, each frame's lanes together. The slice is the caller's.
func (s *Session) Timelines() []Timeline { return nil }

// Events answers a query (Scope Profiler, GetEvents). The error is a [BadRequest].
func (s *Session) Events(q Query) (Events, error) { return Events{}, nil }

// All goes through all events of a timeline, as mode All has them; none for an unknown id.
func (s *Session) All(id TimelineID) iter.Seq[Event] { return nil }

// Samples goes through the samples taken in a timeline's events, in the order of time. Each
// sample of Trace is of one timeline; those that ran for no request are of the process's first.
func (s *Session) Samples(id TimelineID) iter.Seq[profiling.Sample] { return nil }

// Since is when a sample was taken, since the session began.
func (s *Session) Since(sample profiling.Sample) time.Duration { return 0 }
