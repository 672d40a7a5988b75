package viewers

import (
	"cmp"
	"io"
	"iter"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// WriteRequestFirefox writes one request in the format of [WriteFirefox]. Times count from the
// request's start.
//
//   - The request is a process. Spans are markers, and marks are instants. Spans of one thread are
//     nested. A span that overlaps a sibling, or ends after the parent, occupies a further thread.
//   - A sample of the request in t appears on the thread of the sample's span: see
//     [requests.Samples]. If t is nil, the file contains no samples.
//   - If q.Waits is not nil, each goroutine is a thread that shows the goroutine's states.
func WriteRequestFirefox(w io.Writer, q requests.Request, t *profile.Trace) error {
	return writeFirefox(w, newRequestRecording(q, t), q.Waits)
}

// WriteRequestSpeedscope writes one request in the format of [WriteSpeedscope]. The spans of one
// profile are the spans of one thread in [WriteRequestFirefox]. If t is nil, the file contains no
// samples.
func WriteRequestSpeedscope(w io.Writer, q requests.Request, t *profile.Trace) error {
	return writeSpeedscope(w, newRequestRecording(q, t))
}

// A requestRecording is the recording of a request. Each lane of its spans is a timeline.
type requestRecording struct {
	q         requests.Request
	trace     *profile.Trace // with the samples of the request only; nil without samples
	timelines []sessions.Timeline
	events    [][]sessions.Event // by timeline
	samples   [][]profile.Sample
}

var _ recording = (*requestRecording)(nil)

func newRequestRecording(q requests.Request, t *profile.Trace) *requestRecording {
	r := &requestRecording{q: q, trace: requests.Profile(q, t)}
	tree := newLaneTree(q)
	for i, lane := range tree.lanes {
		tl := sessions.Timeline{
			ID: sessions.TimelineID(i + 1), FrameID: 1, Name: q.Root.Name, Lane: i,
			TraceID: q.TraceID(), SpanID: q.Root.SpanID,
			Interval: r.interval(lane[0]),
		}
		var events []sessions.Event
		for _, s := range lane {
			events = append(events, r.spanEvents(s)...)
			tl.Interval.End = max(tl.Interval.End, r.interval(s).End)
		}
		slices.SortStableFunc(events, func(a, b sessions.Event) int {
			return cmp.Compare(a.Interval.Start, b.Interval.Start)
		})
		for n := range events {
			events[n].ID = sessions.EventID(n + 1)
		}
		tl.Events = len(events)
		r.timelines, r.events = append(r.timelines, tl), append(r.events, events)
	}
	r.samples = make([][]profile.Sample, len(tree.lanes))
	for s, sample := range requests.Samples(q, r.trace) {
		lane := tree.of[s]
		r.samples[lane] = append(r.samples[lane], sample)
		r.timelines[lane].Samples++
	}
	return r
}

// interval returns the time of a span since the request's start.
func (r *requestRecording) interval(s *otlpenc.Span) sessions.Interval {
	return sessions.Interval{Start: s.Start.Sub(r.q.Root.Start), End: endOf(s).Sub(r.q.Root.Start)}
}

func (r *requestRecording) Started() time.Time             { return r.q.Root.Start }
func (r *requestRecording) Length() time.Duration          { return r.q.Duration() }
func (r *requestRecording) Trace() *profile.Trace          { return r.trace }
func (r *requestRecording) Timelines() []sessions.Timeline { return r.timelines }
func (r *requestRecording) All(id sessions.TimelineID) iter.Seq[sessions.Event] {
	return slices.Values(r.events[id-1])
}
func (r *requestRecording) Samples(id sessions.TimelineID) iter.Seq[profile.Sample] {
	return slices.Values(r.samples[id-1])
}
func (r *requestRecording) Since(s profile.Sample) time.Duration {
	return r.trace.Origin.Add(s.Timestamp).Sub(r.q.Root.Start)
}

// Stats returns the counts of the request. The field Entries counts spans and marks.
func (r *requestRecording) Stats() sessions.Stats {
	stats := sessions.Stats{Dropped: uint64(max(0, r.q.Dropped))}
	for _, events := range r.events {
		stats.Entries += uint64(len(events))
	}
	if r.trace != nil {
		stats.Samples, stats.Profiling = uint64(len(r.trace.Samples)), r.trace.Stats
	}
	return stats
}

// spanEvents returns the events of a span and its marks. A mark outside of the span moves to the
// span's nearer end.
func (r *requestRecording) spanEvents(s *otlpenc.Span) []sessions.Event {
	var detail []slog.Attr
	if s.Status.Code == codes.Error {
		detail = append(detail, slog.String("error", s.Status.Description))
	}
	within := r.interval(s)
	events := []sessions.Event{{
		Type: r.eventType(s), Name: requests.Row{Span: s}.Name(), SpanID: s.SpanID, Hits: 1,
		Time:     within.End - within.Start,
		Interval: within, Detail: append(detail, details(s.Attributes)...),
	}}
	for _, e := range s.Events {
		at := max(within.Start, min(e.Time.Sub(r.q.Root.Start), within.End))
		events = append(events,
			sessions.Event{Type: sessions.Mark, Name: e.Name, SpanID: s.SpanID, Hits: 1,
				Interval: sessions.Interval{Start: at, End: at}, Detail: details(e.Attributes)})
	}
	return events
}

func (r *requestRecording) eventType(s *otlpenc.Span) sessions.EventType {
	switch {
	case s == r.q.Root:
		return sessions.Request
	case s.Kind == trace.SpanKindClient, s.Kind == trace.SpanKindProducer:
		return sessions.Call
	}
	return sessions.Measure
}

// details converts attributes to details of events. Lists and maps become texts.
func details(attrs []attribute.KeyValue) []slog.Attr {
	all := make([]slog.Attr, 0, len(attrs))
	for _, kv := range attrs {
		all = append(all, slog.Attr{Key: string(kv.Key), Value: otlpenc.Detail(kv.Value)})
	}
	return all
}
