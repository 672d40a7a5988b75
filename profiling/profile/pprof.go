package profile

import (
	"fmt"
	"io"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/text"
)

// WritePprof writes the trace to w as a profile for go tool pprof. The format is gzipped protocol
// buffers. [Trace.Pprof] documents the profile and the errors.
func (t *Trace) WritePprof(w io.Writer) error {
	p, err := t.Pprof()
	if err != nil {
		return err
	}
	return p.Write(w)
}

// Pprof converts the trace to a profile for go tool pprof. If an id is out of range or the samples
// are out of order, Pprof returns an error. The memory of the profile depends on the number of
// different stacks and contexts.
//
//   - The values of a CPU trace are samples/count and cpu/nanoseconds, as in runtime/pprof. The
//     values of a wall-clock trace are samples/count and wall/nanoseconds.
//   - Samples with equal lines and an equal context become one sample of the profile.
//   - The profile contains the line numbers that the trace contains.
//   - The labels span_id, span_name and trace_id identify the span. These labels replace labels of
//     the program with the same keys.
//   - Pprof drops labels with an empty key or an empty value. The format cannot store such labels.
//   - A sample without a stack contains the function [NoStack]. Therefore the profile contains the
//     whole time.
//   - A comment of the profile reports how long other code used the runtime's CPU profiler.
//   - Another comment reports that functions are hidden, with the number of samples without a
//     stack.
//
// Samples of the profile share lists of locations and maps of labels. Before you change samples,
// copy the profile.
//
// Locations contain no addresses. Therefore go tool pprof shows functions and lines, but no
// instructions. The command disasm finds nothing, and weblist shows source lines only.
func (t *Trace) Pprof() (*pprofpb.Profile, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	kind := "cpu"
	if t.Engine == EngineWall {
		kind = "wall"
	}
	p := &pprofpb.Profile{
		SampleType: []*pprofpb.ValueType{
			{Type: "samples", Unit: "count"}, {Type: kind, Unit: "nanoseconds"},
		},
		PeriodType:    &pprofpb.ValueType{Type: kind, Unit: "nanoseconds"},
		Period:        int64(t.Interval),
		DurationNanos: int64(t.Stopped - t.Started),
		// Without a mapping, go tool pprof adds one, disassembles the program at addresses that
		// locations do not have, and panics.
		Mapping: []*pprofpb.Mapping{
			{ID: 1, HasFunctions: true, HasFilenames: true, HasLineNumbers: true},
		},
	}
	if t.Stats.BusyGaps > 0 {
		p.Comments = append(p.Comments, fmt.Sprintf(
			"other code in the process had the CPU profiler for %v of %v, %d times: nothing was sampled then",
			t.Stats.BusyTime, t.Stopped-t.Started, t.Stats.BusyGaps))
	}
	if note := modules.HiddenNote(t.Modules, t.Stats.Samples, t.Stats.Filtered); note != "" {
		p.Comments = append(p.Comments, note)
	}
	if !t.Origin.IsZero() {
		p.TimeNanos = t.Origin.Add(t.Started).UnixNano()
	}
	type key struct {
		at      Position
		context int
	}
	l := locations{t: t, p: p, stacks: map[Position][]*pprofpb.Location{},
		positions: make([]*pprofpb.Location, len(t.Stacks)+len(t.places)),
		lines:     map[Call]*pprofpb.Location{}, functions: map[Call]*pprofpb.Function{}}
	samples, labels := map[key]*pprofpb.Sample{}, map[int]map[string][]string{}
	for _, s := range t.Samples {
		at, _ := t.Position(s)
		k := key{at, s.ContextID}
		to := samples[k]
		if to == nil {
			to = &pprofpb.Sample{Location: l.stack(k.at), Value: make([]int64, 2)}
			if s.ContextID != None {
				if labels[s.ContextID] == nil {
					labels[s.ContextID] = pprofLabels(&t.Contexts[s.ContextID])
				}
				to.Label = labels[s.ContextID]
			}
			samples[k] = to
			p.Sample = append(p.Sample, to)
		}
		to.Value[0] += int64(s.Count)
		to.Value[1] += int64(s.Weight)
	}
	return p, p.CheckValid()
}

func pprofLabels(c *SampleContext) map[string][]string {
	labels := make(map[string][]string, len(c.Labels)+3)
	for _, l := range c.Labels {
		set(labels, l.Key, l.Value)
	}
	if c.SpanID.IsValid() {
		labels["span_id"] = []string{c.SpanID.String()}
		labels["trace_id"] = []string{c.TraceID.String()}
		delete(labels, "span_name") // the user's
		set(labels, "span_name", c.SpanName)
	}
	return labels
}

// set sets a label as UTF-8, unless the key or the value is empty.
func set(labels map[string][]string, key, value string) {
	key, value = text.Valid(key), text.Valid(value)
	if key != "" && value != "" {
		labels[key] = []string{value}
	}
}

// locations numbers a profile's locations and functions from 1, in the order of their first use.
type locations struct {
	t         *Trace
	p         *pprofpb.Profile
	stacks    map[Position][]*pprofpb.Location
	positions []*pprofpb.Location // of stacks, then of places
	lines     map[Call]*pprofpb.Location
	functions map[Call]*pprofpb.Function // by calls with Line 0
}

// stack returns the locations of a position and its callers, the innermost first.
func (l *locations) stack(leaf Position) []*pprofpb.Location {
	if stack, known := l.stacks[leaf]; known {
		return stack
	}
	depth := 0
	for at, ok := leaf, leaf.stack != None; ok; at, ok = l.t.Caller(at) {
		depth++
	}
	stack := make([]*pprofpb.Location, 0, max(1, depth))
	for at, ok := leaf, leaf.stack != None; ok; at, ok = l.t.Caller(at) {
		i := at.stack
		if at.place > 0 {
			i = len(l.t.Stacks) + int(at.place) - 1
		}
		if l.positions[i] == nil {
			l.positions[i] = l.location(l.t.Call(at))
		}
		stack = append(stack, l.positions[i])
	}
	if depth == 0 {
		stack = append(stack, l.location(Call{Name: NoStack}))
	}
	l.stacks[leaf] = stack
	return stack
}

func (l *locations) location(c Call) *pprofpb.Location {
	loc := l.lines[c]
	if loc == nil {
		loc = &pprofpb.Location{
			ID:   uint64(len(l.p.Location) + 1),
			Line: []pprofpb.Line{{Function: l.function(c), Line: int64(c.Line)}},
		}
		l.lines[c] = loc
		l.p.Location = append(l.p.Location, loc)
	}
	return loc
}

func (l *locations) function(c Call) *pprofpb.Function {
	c.Line = 0
	f := l.functions[c]
	if f == nil {
		// SystemName stays empty. If SystemName equals the name, go tool pprof takes the name for
		// C++ and cuts the (*T) out of a generic type's method.
		f = &pprofpb.Function{ID: uint64(len(l.p.Function) + 1), Name: c.Name, Filename: c.File,
			StartLine: int64(c.StartLine)}
		l.functions[c] = f
		l.p.Function = append(l.p.Function, f)
	}
	return f
}
