package profile

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/perfline/perfline/internal/text"
)

// A Builder builds a trace from samples. Only one goroutine may use a Builder at a time.
//
// The builder identifies a call by the pointer. Use one table of calls for all samples: equal calls
// with different pointers cost a look-up and memory each. A call must not change after Add. Add
// looks up each frame of a sample. For a known stack, Add stores only the sample.
type Builder struct {
	t    Trace
	keep func(*Call) bool // nil keeps all calls

	// children holds places by caller and call. A call that keep rejects has its caller's place.
	children  map[callSite]int32
	calls     map[*Call]int // indexes in t.Frames, or None for rejected calls
	stacks    map[Stack]int
	frames    map[Frame]int
	resources map[string]int

	contexts map[any]int    // indexes in t.Contexts, by key
	equal    map[string]int // indexes in t.Contexts, by text
	unsorted bool
}

type callSite struct {
	caller int32 // in Trace.places, from 1; 0 at the bottom
	call   *Call
}

// NewBuilder returns an empty Builder. keep reports whether the trace contains a call. The builder
// calls keep once for each call. A nil keep accepts all calls.
func NewBuilder(keep func(*Call) bool) *Builder {
	return &Builder{
		keep: keep, children: map[callSite]int32{}, calls: map[*Call]int{}, stacks: map[Stack]int{},
		frames: map[Frame]int{}, resources: map[string]int{}, contexts: map[any]int{},
		equal: map[string]int{},
	}
}

// Add records a sample with a stack, innermost call first. The caller chooses the clock of
// s.Timestamp. s.ContextID must be [None] or a result of [Builder.Context]. Add sets s.StackID. If
// the stack contains more than 2 048 calls, Add drops the outermost calls and sets s.Truncated.
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

// Stats returns the counts Samples, Truncated and Filtered of the samples so far. The other fields
// are zero.
func (b *Builder) Stats() Stats { return b.t.Stats }

// place adds a place for a call that the builder does not know.
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

// frame returns the id of a call's function, or None if keep rejects the call.
func (b *Builder) frame(c *Call) int {
	if id, known := b.calls[c]; known {
		return id
	}
	id := None
	if b.keep == nil || b.keep(c) {
		// JSON would replace invalid UTF-8, and the name might then equal another frame's.
		f := Frame{Name: text.Valid(c.Name), ResourceID: None, Line: max(0, c.StartLine)}
		if c.File != "" {
			f.ResourceID = intern(b.resources, &b.t.Resources, text.Valid(c.File))
		}
		id = intern(b.frames, &b.t.Frames, f)
	}
	b.calls[c] = id
	return id
}

// intern returns the index of v in a list without equal elements.
func intern[T comparable](ids map[T]int, list *[]T, v T) int {
	id, known := ids[v]
	if !known {
		id = len(*list)
		ids[v] = id
		*list = append(*list, v)
	}
	return id
}

// Context returns the id of the context that key identifies. For example, key is the pointer to the
// labels of a goroutine. key must be comparable. The builder calls describe once for each key.
// Context returns [None] if key is nil, or if the context contains no span and no labels.
//
// The builder references all keys. Therefore no other object reuses the address of a key.
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

// text returns a key. Lengths separate the parts, so that different contexts have different keys.
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

// Trace returns the trace of the samples. The caller must not use the builder afterwards. endName
// receives the key of a context, and returns the name at the end of the span. If the name is
// unknown or unchanged, endName returns "". A nil endName changes no names.
func (b *Builder) Trace(endName func(key any) string) *Trace {
	if b.unsorted {
		slices.SortStableFunc(b.t.Samples,
			func(a, b Sample) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	}
	if endName != nil {
		b.rename(endName)
	}
	t := b.t // a copy, so that the builder's maps can be freed
	return &t
}

// rename sets the names that spans ended with, and merges contexts that are equal then.
func (b *Builder) rename(endName func(key any) string) {
	renamed := false
	for key, id := range b.contexts {
		if id == None {
			continue
		}
		// Several keys may stand for one context, and not each key may know the name.
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
