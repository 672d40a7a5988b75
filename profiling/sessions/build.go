package sessions

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/profiling/profile"
)

// A source is a session without its timelines, and their input.
type source struct {
	s       *Session
	zero    time.Duration // the session's beginning, in the time of entries and s.cpu
	entries *entryStore
}

// A reading is the total CPU time of the process at a time.
type reading struct{ at, cpu time.Duration }

// A builder builds a session.
type builder struct {
	source
	p       *progress
	frames  []*frameBuilder                   // the process, the garbage collector, then requests
	bySpan  map[trace.SpanID]place            // of the spans of samples
	byTrace map[trace.TraceID][]*frameBuilder // requests
}

// A place is a lane of a frame. The frame is nil if the builder does not know the frame yet.
type place struct {
	frame *frameBuilder
	lane  int
}

// build returns the session, or an error if the context of p ends.
func (src *source) build(p *progress) (*Session, error) {
	b := &builder{
		source: *src, p: p,
		bySpan: map[trace.SpanID]place{}, byTrace: map[trace.TraceID][]*frameBuilder{},
	}
	b.s.stats.Dropped = src.entries.dropped
	for i := range b.s.cpu {
		b.s.cpu[i].at -= src.zero
	}
	p.total.Store(3 * int64(src.entries.count)) // splitByFrame, assignLanes and timeline
	if t := b.s.trace; t != nil {
		b.s.stats.Samples, b.s.stats.Profiling = uint64(len(t.Samples)), t.Stats
		p.total.Add(int64(len(t.Samples)))
		if !t.Origin.IsZero() {
			b.s.offset = t.Origin.Sub(b.s.started)
		}
	}
	for _, step := range []func(){b.splitByFrame, b.assignLanes, b.placeSamples, b.addTimelines} {
		step()
		if err := p.ctx.Err(); err != nil {
			return nil, err
		}
	}
	return b.s, nil
}

// splitByFrame adds records to their frames, except records from before the session.
func (b *builder) splitByFrame() {
	b.frames = []*frameBuilder{{frame: b.entries.process}, {frame: b.entries.collector}}
	builders := map[*frame]*frameBuilder{}
	for _, f := range b.frames {
		builders[f.frame] = f
	}
	for _, chunk := range b.entries.chunks {
		for r := range each(b.p, chunk) {
			r.start -= b.zero
			r.end -= b.zero
			if r.end < 0 {
				continue
			}
			b.s.stats.Entries++
			f := builders[r.frame]
			if f == nil {
				f = b.addRequest(r.frame)
				builders[r.frame] = f
			}
			f.records = append(f.records, r)
		}
	}
}

func (b *builder) addRequest(request *frame) *frameBuilder {
	f := &frameBuilder{frame: request}
	b.frames = append(b.frames, f)
	if request.traceID.IsValid() {
		b.byTrace[request.traceID] = append(b.byTrace[request.traceID], f)
	}
	return f
}

// assignLanes adds the records of each frame to lanes, and finds the places of sampled spans.
func (b *builder) assignLanes() {
	if b.s.trace != nil {
		for i := range b.s.trace.Contexts {
			b.bySpan[b.s.trace.Contexts[i].SpanID] = place{}
		}
	}
	delete(b.bySpan, trace.SpanID{})
	for _, f := range b.frames {
		f.sortRecords()
		for r := range each(b.p, f.records) {
			f.add(*r)
		}
		if b.p.ctx.Err() != nil {
			return
		}
		f.sortLanes()
		if len(b.bySpan) == 0 {
			continue
		}
		for i, l := range f.lanes {
			for _, r := range l.records {
				if _, sampled := b.bySpan[r.span]; sampled {
					b.bySpan[r.span] = place{f, i}
				}
				// The parent has not ended, unless its record follows.
				if to, sampled := b.bySpan[r.parent]; sampled && to.frame == nil {
					b.bySpan[r.parent] = place{f, 0}
				}
			}
		}
	}
}

// placeSamples adds each sample to the lane of its span, or else to the first lane of a request of
// the same trace. Samples without a span get the last lane of the process.
func (b *builder) placeSamples() {
	if b.s.trace == nil {
		return
	}
	for _, requests := range b.byTrace {
		slices.SortStableFunc(requests, b.compareStarts)
	}
	process := b.frames[0]
	noSpan := place{process, len(process.lanes)}
	i := int32(0)
	for s := range each(b.p, b.s.trace.Samples) {
		to := noSpan
		if s.ContextID != profile.None {
			if c := &b.s.trace.Contexts[s.ContextID]; c.SpanID.IsValid() {
				to = b.placeOf(c, b.sampledAt(i))
			}
		}
		if to.lane == len(to.frame.lanes) {
			to.frame.lanes = append(to.frame.lanes, &lane{})
		}
		l := to.frame.lanes[to.lane]
		l.samples = append(l.samples, i)
		i++
	}
}

// placeOf returns the place of a sampled span. A span without a record belongs to the request of
// its trace that began last before the span's first sample, or to a new request.
func (b *builder) placeOf(c *profile.SampleContext, at time.Duration) place {
	to := b.bySpan[c.SpanID]
	if to.frame != nil {
		return to
	}
	if requests := b.byTrace[c.TraceID]; len(requests) > 0 {
		later := sort.Search(len(requests),
			func(i int) bool { return requests[i].start(b.sampledAt) > at })
		to.frame = requests[max(0, later-1)]
	} else { // no span of the trace has ended
		name := cut(cmp.Or(c.SpanName, unnamedRequest))
		to.frame = b.addRequest(&frame{name: name, traceID: c.TraceID})
	}
	b.bySpan[c.SpanID] = to
	return to
}

func (b *builder) compareStarts(x, y *frameBuilder) int {
	return cmp.Compare(x.start(b.sampledAt), y.start(b.sampledAt))
}

func (b *builder) sampledAt(sample int32) time.Duration {
	return b.s.Since(b.s.trace.Samples[sample])
}

// addTimelines builds the timelines of the process, the garbage collector, and requests by start.
func (b *builder) addTimelines() {
	const firstRequest = 2
	slices.SortStableFunc(b.frames[firstRequest:], b.compareStarts)
	for i, f := range b.frames {
		for k, l := range f.lanes {
			if b.p.ctx.Err() != nil {
				return
			}
			t := b.timeline(l)
			t.ID, t.FrameID = TimelineID(len(b.s.timelines)+1), uint32(i+1)
			t.Name, t.TraceID, t.SpanID = f.name, f.traceID, f.root
			t.Lane, t.BetweenMarks = k, l.betweenMarks
			b.s.timelines = append(b.s.timelines, t)
			b.s.stats.Events += uint64(t.Events)
		}
		*f = frameBuilder{} // free its memory
	}
}

func (b *builder) timeline(l *lane) timeline {
	nodes := make([]node, 0, len(l.records))
	parents := l.parents
	for r := range each(b.p, l.records) {
		nodes = appendNode(nodes, *r, parents[len(nodes)], b.s.entryCost)
	}
	l.records, l.parents = nil, nil
	if len(l.samples) > 0 {
		samples := make([]sample, len(l.samples))
		for k, i := range l.samples {
			s := b.s.trace.Samples[i]
			function := cut(profiles.InnermostFunction(b.s.trace, s))
			samples[k] = sample{at: b.s.Since(s), function: function, weight: s.Weight}
			if s.ContextID != profile.None {
				samples[k].span = b.s.trace.Contexts[s.ContextID].SpanID
			}
		}
		groups := groupSamples(nodes, samples, b.s.trace.Interval, b.s.trace.Stats.SampleCost)
		nodes = mergeGroups(nodes, groups)
	}
	sumTimes(nodes)
	t := timeline{nodes: nodes, samples: l.samples}
	t.Events, t.Samples = len(nodes), len(l.samples)
	t.sum()
	return t
}
