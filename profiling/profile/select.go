package profile

import (
	"go.opentelemetry.io/otel/trace"
)

// Select returns a trace of the samples for which keep returns true. The returned trace contains
// only the stacks, frames, resources and contexts of these samples. Select copies the other fields
// from t. Select calls keep once for each sample, in the order of the samples.
func (t *Trace) Select(keep func(Sample) bool) *Trace {
	selected := *t
	selected.Samples = nil
	for _, s := range t.Samples {
		if keep(s) {
			selected.Samples = append(selected.Samples, s)
		}
	}
	selected.compact()
	return &selected
}

// OfTrace returns a trace of the samples that name a span of one distributed trace. The parameter
// id is the id of the distributed trace.
func (t *Trace) OfTrace(id trace.TraceID) *Trace {
	return t.Select(func(s Sample) bool {
		return s.ContextID != None && t.Contexts[s.ContextID].TraceID == id
	})
}

// OfSpan returns a trace of the samples that name the span with the given id. The trace does not
// contain the samples of child spans. No sample names a measure of marks.Time. Call
// requests.Samples for such a measure.
func (t *Trace) OfSpan(id trace.SpanID) *Trace {
	return t.Select(func(s Sample) bool {
		return s.ContextID != None && t.Contexts[s.ContextID].SpanID == id
	})
}

// compact removes unused elements from the lists. The samples must be the trace's own.
func (t *Trace) compact() {
	contexts, resources := make([]bool, len(t.Contexts)), make([]bool, len(t.Resources))
	stacks, frames := make([]bool, len(t.Stacks)), make([]bool, len(t.Frames))
	places := make([]bool, len(t.places)+1)
	for i := range t.Samples {
		s := &t.Samples[i]
		if s.ContextID != None {
			contexts[s.ContextID] = true
		}
		at, _ := t.Position(*s)
		s.place = at.place
		for p := at.place; p > 0 && !places[p]; p = t.places[p-1].parent {
			places[p] = true
		}
		for id := at.stack; id != None && !stacks[id]; id = t.Stacks[id].ParentID {
			stacks[id] = true
			frame := t.Stacks[id].FrameID
			frames[frame] = true
			if r := t.Frames[frame].ResourceID; r != None {
				resources[r] = true
			}
		}
	}
	var toContext, toPlace, toStack, toFrame, toResource func(int) int
	t.Contexts, toContext = used(t.Contexts, contexts)
	t.Resources, toResource = used(t.Resources, resources)
	t.Frames, toFrame = used(t.Frames, frames)
	t.Stacks, toStack = used(t.Stacks, stacks)
	t.places, toPlace = used(t.places, places[1:])
	for i := range t.Frames {
		t.Frames[i].ResourceID = toResource(t.Frames[i].ResourceID)
	}
	for i := range t.Stacks {
		s := &t.Stacks[i]
		s.FrameID, s.ParentID = toFrame(s.FrameID), toStack(s.ParentID)
	}
	for i := range t.places {
		p := &t.places[i]
		p.parent, p.stack = int32(toPlace(int(p.parent)-1)+1), int32(toStack(int(p.stack)))
	}
	for i := range t.Samples {
		s := &t.Samples[i]
		s.ContextID, s.StackID = toContext(s.ContextID), toStack(s.StackID)
		s.place = int32(toPlace(int(s.place)-1) + 1)
	}
}

// used returns the elements with in set, and a function from old indexes to new ones.
func used[T any](list []T, in []bool) (selected []T, to func(int) int) {
	ids := make([]int, len(list))
	for i, v := range list {
		ids[i] = len(selected)
		if in[i] {
			selected = append(selected, v)
		}
	}
	return selected, func(id int) int {
		if id == None {
			return None
		}
		return ids[id]
	}
}
