package sessions

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/profile"
)

// raw is what a session is put together from.
type raw struct {
	id      SessionID
	started time.Time
	length  time.Duration
	log     *entryLog
	trace   *profile.Trace
	cpu     []reading
	costs   costs
	lost    uint64
	// zero is when the session began on the axis that the log's and the readings' times are on.
	zero time.Duration
	full bool // the sampler's buffer was
}

// A reading is how much CPU time the process had used in all at some time.
type reading struct{ at, used time.Duration }

// A builder puts a session together.
type builder struct {
	raw
	p       *progress
	frames  []*growing
	wanted  map[trace.SpanID]bool // spans that samples are of
	bySpan  map[trace.SpanID]place
	byTrace map[trace.TraceID][]int // frames of requests, by their start
	s       *Session
}

// growing is a frame in the making.
type growing struct {
	frame
	grower
	samples [][]int32 // of the session's trace, for each lane
}

// A place is where a span is: a frame and a lane of it, or -1 if it has no event.
type place struct{ frame, lane int }

// steps is how many steps of progress building takes.
func (r *raw) steps() int {
	passes := 7 // twice in divide, three times in grow, in know and in finish
	if r.trace != nil {
		return (passes*r.log.count + len(r.trace.Samples)) / sliceSize
	}
	return (passes - 1) * r.log.count / sliceSize
}

// build makes the session. It fails when p says so.
func (r *raw) build(p *progress) (*Session, error) {
	b := &builder{raw: *r, p: p, wanted: map[trace.SpanID]bool{}, bySpan: map[trace.SpanID]place{}, byTrace: map[trace.TraceID][]int{}}
	b.s = &Session{
		id: r.id, started: r.started, length: r.length, trace: r.trace, cpu: r.cpu,
		stats: Stats{Dropped: r.log.dropped, Lost: r.lost, SamplesFull: r.full},
	}
	for i := range b.s.cpu {
		b.s.cpu[i].at -= r.zero
	}
	if r.trace != nil {
		b.s.stats.Samples, b.s.stats.Profiling = uint64(len(r.trace.Samples)), r.trace.Stats
		if !r.trace.Origin.IsZero() {
			b.s.offset = r.trace.Origin.Sub(r.started)
		}
	}
	if err := b.divide(); err != nil {
		return nil, err
	}
	b.want()
	for i, f := range b.frames {
		if err := f.grow(); err != nil {
			return nil, err
		}
		if err := b.know(i, f); err != nil {
			return nil, err
		}
	}
	if err := b.place(); err != nil {
		return nil, err
	}
	for i, f := range b.order() {
		for lane := range f.lanes {
			if err := b.finish(f, lane, FrameID(i+1)); err != nil {
				return nil, err
			}
		}
		*f = growing{} // its memory
	}
	return b.s, nil
}

// divide gives each frame its records, but for those that ended before the session began.
func (b *builder) divide() error {
	counts := make([]int, len(b.log.frames))
	for _, c := range b.log.chunks {
		if err := b.p.after(len(c)); err != nil {
			return err
		}
		for i := range c {
			c[i].start -= b.zero
			c[i].end -= b.zero
			if c[i].end >= 0 {
				counts[c[i].frame]++
				b.s.stats.Entries++
			}
		}
	}
	b.frames = make([]*growing, len(counts))
	for i := range b.frames {
		f := &growing{frame: b.log.frames[i]}
		f.costs, f.p = b.costs, b.p
		f.records = make([]*record, 0, counts[i])
		b.frames[i] = f
	}
	for _, c := range b.log.chunks {
		if err := b.p.after(len(c)); err != nil {
			return err
		}
		for i := range c {
			if f := b.frames[c[i].frame]; c[i].end >= 0 {
				f.records = append(f.records, &c[i])
			}
		}
	}
	return nil
}

// want notes the spans that samples are of.
func (b *builder) want() {
	if b.trace == nil {
		return
	}
	for i := range b.trace.Contexts {
		if id := b.trace.Contexts[i].SpanID; id.IsValid() {
			b.wanted[id] = true
		}
	}
}

// know remembers where a frame's spans are, for samples to be put there.
func (b *builder) know(i int, f *growing) error {
	if i >= firstRequest && f.traceID.IsValid() {
		b.byTrace[f.traceID] = append(b.byTrace[f.traceID], i)
	}
	if k := slices.IndexFunc(f.lanes, func(l *lane) bool { return l.request }); k > 0 { // lane 0 has the request
		f.lanes[0], f.lanes[k] = f.lanes[k], f.lanes[0]
	}
	f.samples = make([][]int32, len(f.lanes))
	if len(b.wanted) == 0 {
		return nil
	}
	for k, l := range f.lanes {
		for j := range l.nodes {
			if id := l.nodes[j].span; b.wanted[id] {
				b.bySpan[id] = place{i, k}
			}
		}
	}
	for _, r := range f.records { // spans that have not ended, but something under them has
		if err := b.p.after(1); err != nil {
			return err
		}
		if !b.wanted[r.parent] {
			continue
		}
		if _, known := b.bySpan[r.parent]; !known {
			b.bySpan[r.parent] = place{i, -1}
		}
	}
	return nil
}

// place gives each sample a lane: that of its span's event, else the first of its request's, of
// several in a trace the one that began last before it, else a new frame's; without a span the last
// one of the process's.
func (b *builder) place() error {
	if b.trace == nil {
		return nil
	}
	for _, requests := range b.byTrace {
		slices.SortStableFunc(requests, func(x, y int) int { return cmp.Compare(b.began(x), b.began(y)) })
	}
	process := b.frames[processFrame]
	outside := len(process.lanes)
	for i, s := range b.trace.Samples {
		if err := b.p.after(1); err != nil {
			return err
		}
		f, in := process, outside
		if s.ContextID != profile.None {
			if c := &b.trace.Contexts[s.ContextID]; c.SpanID.IsValid() {
				at := b.placeOf(c, b.at(int32(i)))
				f, in = b.frames[at.frame], max(0, at.lane)
			}
		}
		for len(f.lanes) <= in {
			f.lanes = append(f.lanes, &lane{})
		}
		for len(f.samples) <= in {
			f.samples = append(f.samples, nil)
		}
		f.samples[in] = append(f.samples[in], int32(i))
	}
	return nil
}

// placeOf is the place of a span, of which a sample was taken at a time; the first one decides.
func (b *builder) placeOf(c *profile.Context, at time.Duration) place {
	p, known := b.bySpan[c.SpanID]
	if known {
		return p
	}
	requests := b.byTrace[c.TraceID]
	if len(requests) == 0 { // one that is under way, and has done nothing that is recorded
		requests = []int{len(b.frames)}
		name := cmp.Or(c.SpanName, unnamed)
		b.frames = append(b.frames, &growing{frame: frame{name: cut(name), traceID: c.TraceID}})
		b.byTrace[c.TraceID] = requests
	}
	later := sort.Search(len(requests), func(i int) bool { return b.began(requests[i]) > at })
	p = place{requests[max(0, later-1)], -1}
	b.bySpan[c.SpanID] = p
	return p
}

// began is when a request did, as far as something of it is recorded.
func (b *builder) began(i int) time.Duration {
	if records := b.frames[i].records; len(records) > 0 {
		return records[0].start
	}
	return b.length
}

// order is the order of the session's frames: those that every session has, then requests by
// their start.
func (b *builder) order() []*growing {
	start := func(f *growing) time.Duration {
		if len(f.records) > 0 {
			return f.records[0].start
		}
		if len(f.samples) > 0 && len(f.samples[0]) > 0 {
			return b.at(f.samples[0][0])
		}
		return b.length
	}
	slices.SortStableFunc(b.frames[firstRequest:], func(x, y *growing) int { return cmp.Compare(start(x), start(y)) })
	return b.frames
}

func (b *builder) at(sample int32) time.Duration {
	return b.trace.Samples[sample].Timestamp + b.s.offset
}

// finish makes a timeline of a lane.
func (b *builder) finish(f *growing, i int, id FrameID) error {
	nodes, apart := f.lanes[i].nodes, f.lanes[i].apart
	f.lanes[i] = nil
	var samples []int32
	if i < len(f.samples) {
		samples = f.samples[i]
	}
	if len(nodes)+len(samples) == 0 {
		return nil
	}
	if len(samples) > 0 {
		all := make([]taken, len(samples))
		for k, j := range samples {
			s := b.trace.Samples[j]
			all[k] = taken{at: b.at(j), doing: cut(b.trace.Doing(s)), weight: s.Weight}
			if s.ContextID != profile.None {
				all[k].span = b.trace.Contexts[s.ContextID].SpanID
			}
		}
		groups := groupSamples(nodes, all, b.trace.Interval, b.costs.sample)
		var err error
		if nodes, err = merge(nodes, groups, b.p); err != nil {
			return err
		}
	}
	for k := range nodes {
		if err := b.p.after(1); err != nil {
			return err
		}
		nodes[k].detail = inlineGroups(nodes[k].detail)
	}
	if err := sum(nodes, b.p); err != nil {
		return err
	}
	t := timeline{nodes: nodes, samples: samples, Timeline: Timeline{
		ID: TimelineID(len(b.s.timelines) + 1), FrameID: id, Name: f.name, Lane: i, BetweenMarks: apart,
		TraceID: f.traceID, SpanID: f.root, Events: len(nodes), Samples: len(samples),
	}}
	t.summarise()
	b.s.timelines = append(b.s.timelines, t)
	b.s.stats.Events += uint64(len(nodes))
	return nil
}

// inlineGroups returns attributes with groups without a name taken apart, and the strings
// in groups cut.
func inlineGroups(attrs []slog.Attr) []slog.Attr {
	if !slices.ContainsFunc(attrs, func(a slog.Attr) bool { return a.Value.Kind() == slog.KindGroup }) {
		return attrs // strings were cut when they came
	}
	return appendInline(nil, attrs)
}

func appendInline(out, attrs []slog.Attr) []slog.Attr {
	for _, a := range attrs {
		switch a.Value.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(cut(a.Value.String()))
		case slog.KindGroup:
			if a.Key == "" {
				out = appendInline(out, a.Value.Group())
				continue
			}
			a.Value = slog.GroupValue(appendInline(nil, a.Value.Group())...)
		default:
		}
		out = append(out, a)
	}
	return out
}

// Of makes a session of what somebody else recorded, such as an observer of the program's
// own. Its ID is 1. It knows of no overhead and of no time of the process.
func Of(r Recording) (*Session, error) {
	if r.Length < 0 {
		return nil, fmt.Errorf("sessions: Length %v: must not be negative", r.Length)
	}
	in := &raw{id: 1, started: r.Started, length: r.Length, trace: r.Trace, log: newEntryLog(defaultMaxEvents)}
	if r.Entries != nil {
		for e := range r.Entries {
			in.log.add(&e, e.Time().Sub(r.Started), false)
		}
	}
	return in.build(&progress{ctx: context.Background()})
}
