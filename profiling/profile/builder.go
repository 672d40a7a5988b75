package profile

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/perfline/perfline/internal/text"
)

// A Builder makes a trace of samples. It knows calls by their pointers, which should all come from
// one table: equal calls behind different pointers cost a look-up and memory each. A call must
// not change once it was added. A Builder is used from one goroutine.
//
// A sample is interned with one look-up for each frame and without an allocation
// once its stack was seen.
type Builder struct {
	t    Trace
	keep func(*Call) bool // nil keeps all

	// children finds a place by its caller's and its call. For a call that is left
	// out it gives the caller's place, and calls from the former count as calls from the latter.
	children  map[callSite]int32
	calls     map[*Call]int // index in t.Frames, or None when it is left out
	stacks    map[Stack]int
	frames    map[Frame]int
	resources map[string]int

	contexts map[any]int // index in t.Contexts by the keys that Context was given
	equal    map[string]int
	unsorted bool
}

type callSite struct {
	caller int32 // in Trace.places, from 1; 0 at the bottom
	call   *Call
}

// NewBuilder returns an empty Builder. Keep says which calls are frames of the trace, and is asked
// once for each; nil keeps all.
func NewBuilder(keep func(*Call) bool) *Builder {
	return &Builder{
		keep: keep, children: map[callSite]int32{}, calls: map[*Call]int{}, stacks: map[Stack]int{},
		frames: map[Frame]int{}, resources: map[string]int{}, contexts: map[any]int{},
		equal: map[string]int{},
	}
}

// Add records a sample with its stack, innermost first. Its Timestamp is by a clock of the caller's
// choice, and its ContextID an index that [Builder.Context] gave, or None. The builder finds its
// StackID. A stack of more than 2 048 calls is cut to
// the innermost, and the sample is Truncated.
func (b *Builder) Add(stack []*Call, s Sample) {
	depth := min(len(stack), maxDepth)
	s.Truncated = s.Truncated || depth < len(stack)
	place := int32(0)
	for i := depth - 1; i >= 0; i-- { // outermost first
		site := callSite{place, stack[i]}
		next, known := b.children[site]
		if !known {
			next = b.place(site)
			b.children[site] = next
		}
		place = next
	}
	s.StackID, s.place, s.Count = None, place, max(1, s.Count)
	if place > 0 {
		s.StackID = int(b.t.places[place-1].stack)
	} else if len(stack) > 0 {
		b.t.Stats.Filtered++
	}
	b.t.Stats.Samples++
	if s.Truncated {
		b.t.Stats.Truncated++
	}
	if n := len(b.t.Samples); n > 0 && s.Timestamp < b.t.Samples[n-1].Timestamp {
		b.unsorted = true
	}
	b.t.Samples = append(b.t.Samples, s)
}

// Stats counts the samples that were added: all, the cut ones, and the ones that have no stack
// because each frame was left out.
func (b *Builder) Stats() Stats { return b.t.Stats }

// place makes the place of a call that was not seen before.
func (b *Builder) place(site callSite) int32 {
	frame := b.frame(site.call)
	if frame == None {
		return site.caller
	}
	stack := Stack{FrameID: frame, ParentID: None}
	if site.caller > 0 {
		stack.ParentID = int(b.t.places[site.caller-1].stack)
	}
	id := intern(b.stacks, &b.t.Stacks, stack)
	line := max(0, min(site.call.Line, math.MaxInt32))
	b.t.places = append(b.t.places, place{parent: site.caller, stack: int32(id), line: int32(line)})
	return int32(len(b.t.places))
}

// frame is the id of a call's function, or None when its frames are left out.
func (b *Builder) frame(c *Call) int {
	if id, known := b.calls[c]; known {
		return id
	}
	id := None
	if b.keep == nil || b.keep(c) {
		// Invalid UTF-8 would come back from JSON as another name, perhaps one that
		// another frame has.
		f := Frame{Name: text.Valid(c.Name), ResourceID: None, Line: max(0, c.StartLine)}
		if c.File != "" {
			f.ResourceID = intern(b.resources, &b.t.Resources, text.Valid(c.File))
		}
		id = intern(b.frames, &b.t.Frames, f)
	}
	b.calls[c] = id
	return id
}

// intern gives the index of v in a list that holds no two equal elements.
func intern[T comparable](ids map[T]int, list *[]T, v T) int {
	id, known := ids[v]
	if !known {
		id = len(*list)
		ids[v] = id
		*list = append(*list, v)
	}
	return id
}

// Context returns the id of what samples ran for, None when that is nothing. Key stands
// for it, say the pointer to a goroutine's labels; describe tells what a key means
// and is asked once for each. A nil key is nothing, and others must be comparable.
//
// The builder holds the keys as they are, so that what they point to is not freed
// and its address not used again while it lives.
func (b *Builder) Context(key any, describe func(key any) SampleContext) int {
	if key == nil {
		return None
	}
	id, known := b.contexts[key]
	if !known {
		id = b.contextOf(describe(key))
		b.contexts[key] = id
	}
	return id
}

func (b *Builder) contextOf(c SampleContext) int {
	if !c.SpanID.IsValid() && !c.TraceID.IsValid() && c.SpanName == "" && len(c.Labels) == 0 {
		return None
	}
	c.Labels = slices.Clone(c.Labels)
	slices.SortStableFunc(c.Labels, func(a, b Label) int { return cmp.Compare(a.Key, b.Key) })
	text := c.text()
	id, known := b.equal[text]
	if !known {
		id = len(b.t.Contexts)
		b.equal[text] = id
		b.t.Contexts = append(b.t.Contexts, c)
	}
	return id
}

// text is the same for equal contexts only: lengths tell its parts apart.
func (c *SampleContext) text() string {
	var b []byte
	b = append(b, c.TraceID[:]...)
	b = append(b, c.SpanID[:]...)
	part := func(s string) {
		b = strconv.AppendInt(b, int64(len(s)), 10)
		b = append(b, ':')
		b = append(b, s...)
	}
	part(c.SpanName)
	for _, l := range c.Labels {
		part(l.Key)
		part(l.Value)
	}
	return string(b)
}

// Trace returns the trace of what was added, with the counts of Stats. The builder must not be used
// any more. EndName tells the name that the span of a context's key ended with, "" if that is not
// known or no other than before; by now the span may have ended. Nil knows none.
func (b *Builder) Trace(endName func(key any) string) *Trace {
	if b.unsorted {
		slices.SortStableFunc(b.t.Samples,
			func(a, b Sample) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	}
	if endName != nil {
		b.rename(endName)
	}
	t := b.t // without the maps, which may go
	return &t
}

// rename gives contexts the names that their spans have now. Those that are equal then
// become one.
func (b *Builder) rename(endName func(key any) string) {
	renamed := false
	for key, id := range b.contexts {
		if id == None {
			continue
		}
		// Several keys may be of one context, and not all know.
		if name := endName(key); name != "" {
			b.t.Contexts[id].SpanName, renamed = name, true
		}
	}
	if !renamed {
		return
	}
	before := b.t.Contexts
	b.t.Contexts = nil
	clear(b.equal)
	ids := make([]int, len(before))
	for i, c := range before {
		ids[i] = b.contextOf(c)
	}
	for i := range b.t.Samples {
		if s := &b.t.Samples[i]; s.ContextID != None {
			s.ContextID = ids[s.ContextID]
		}
	}
}
