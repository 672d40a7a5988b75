package profile

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/perfline/perfline/internal/text"
)

// A Builder builds a [Trace] from samples. Only one goroutine may use a Builder at a time.
//
// The builder identifies each [Call] of a stack by the pointer. Use equal pointers for equal calls:
// each further pointer costs a look-up and memory. The program must not change a call after Add.
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

// NewBuilder returns an empty Builder. The function keep returns false for calls that the trace
// must not contain. The builder invokes keep once for each *Call. A nil keep accepts all calls.
func NewBuilder(keep func(*Call) bool) *Builder {
	return &Builder{
		keep: keep, children: map[callSite]int32{}, calls: map[*Call]int{}, stacks: map[Stack]int{},
		frames: map[Frame]int{}, resources: map[string]int{}, contexts: map[any]int{},
		equal: map[string]int{},
	}
}

// Add adds the sample s with the given stack. The first element of stack is the innermost call.
// s.Timestamp may be a time of any clock. s.ContextID must be [None] or a result of
// [Builder.Context]. Add sets s.StackID. For a known stack, Add stores only the sample. If the
// stack contains more than 2 048 calls, Add drops the outermost calls and sets s.Truncated.
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

// Stats counts the added samples in the fields Samples, Truncated and Filtered. The other fields
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

// Context returns the id of a [SampleContext], for Sample.ContextID. The comparable value key
// identifies the context. For example, key is the pointer to the labels of a goroutine. For a new
// key, the builder calls describe once to get the context. Context returns [None] if key is nil, or
// if the context contains no span and no labels.
//
// The builder stores all keys. Therefore no other object reuses the address of a key.
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

// Trace returns a trace of all added samples, sorted by time. The caller must not use the builder
// afterwards. The function endName returns the name at the end of a span. The argument of endName
// is the key of the span's context. If the name is unknown or unchanged, endName returns "". A nil
// endName changes no names.
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
