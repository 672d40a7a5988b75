package profiling

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// A builder makes the trace of one session. Its symbols must all come from one
// table ([sampling.Symbols]): it knows them by their pointers. It is used from one
// goroutine.
//
// A sample is interned with one look-up for each frame and without an allocation
// once its stack was seen.
type builder struct {
	t    Trace
	keep func(*sampling.Symbol) bool // nil keeps all

	// children finds a place by its caller's and its symbol. Of a symbol that is left
	// out it gives the caller's place: what it called is called from there.
	children  map[callSite]int32
	symbols   map[*sampling.Symbol]int // index in t.Frames, or None when it is left out
	stacks    map[Stack]int
	frames    map[Frame]int
	resources map[string]int

	contexts map[any]int // index in t.Contexts by the keys that context was given; see named
	equal    map[string]int
	unsorted bool
	weight   time.Duration // of all samples
	factor   float64       // that weights are multiplied by in the end; 0 means 1
}

type callSite struct {
	caller int32 // in Trace.places, from 1; 0 at the bottom
	symbol *sampling.Symbol
}

func newBuilder(keep func(*sampling.Symbol) bool) *builder {
	return &builder{
		keep: keep, children: map[callSite]int32{}, symbols: map[*sampling.Symbol]int{}, stacks: map[Stack]int{},
		frames: map[Frame]int{}, resources: map[string]int{}, contexts: map[any]int{}, equal: map[string]int{},
	}
}

// add records a sample at a time, by a clock of the caller's choice. The context is an
// index that the method of that name gave, or None.
func (b *builder) add(s *sampling.Sample, at time.Duration, context int) {
	depth := min(len(s.Stack), maxDepth)
	cut := s.Cut || depth < len(s.Stack)
	place := int32(0)
	for i := depth - 1; i >= 0; i-- { // outermost first
		site := callSite{place, s.Stack[i]}
		next, known := b.children[site]
		if !known {
			next = b.place(site)
			b.children[site] = next
		}
		place = next
	}
	stack := None
	if place > 0 {
		stack = int(b.t.places[place-1].stack)
	} else if len(s.Stack) > 0 {
		b.t.Stats.Filtered++
	}
	b.t.Stats.Samples++
	if cut {
		b.t.Stats.Truncated++
	}
	if n := len(b.t.Samples); n > 0 && at < b.t.Samples[n-1].Timestamp {
		b.unsorted = true
	}
	b.weight += s.Weight
	b.t.Samples = append(b.t.Samples, Sample{
		Timestamp: at, StackID: stack, ContextID: context, Count: max(1, s.Count), Weight: s.Weight,
		place: place, Marker: Marker(s.Marker), Truncated: cut,
	})
}

// place makes the place of a call that was not seen before.
func (b *builder) place(site callSite) int32 {
	frame := b.frame(site.symbol)
	if frame == None {
		return site.caller
	}
	stack := Stack{FrameID: frame, ParentID: None}
	if site.caller > 0 {
		stack.ParentID = int(b.t.places[site.caller-1].stack)
	}
	id := intern(b.stacks, &b.t.Stacks, stack)
	line := max(0, min(site.symbol.Line, math.MaxInt32))
	b.t.places = append(b.t.places, place{parent: site.caller, stack: int32(id), line: int32(line)})
	return int32(len(b.t.places))
}

// frame is the id of a symbol's function, or None when its frames are left out.
func (b *builder) frame(s *sampling.Symbol) int {
	if id, known := b.symbols[s]; known {
		return id
	}
	id := None
	if b.keep == nil || b.keep(s) {
		// What JSON cannot hold would come back from it as another name, perhaps one that
		// is there already.
		f := Frame{Name: strings.ToValidUTF8(s.Name, "\uFFFD"), ResourceID: None, Line: max(0, s.StartLine)}
		if s.File != "" {
			f.ResourceID = intern(b.resources, &b.t.Resources, strings.ToValidUTF8(s.File, "\uFFFD"))
		}
		id = intern(b.frames, &b.t.Frames, f)
	}
	b.symbols[s] = id
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

// named is a key that tells the name that its span ended with, "" if that is not known or
// no other than before. It is asked when the trace is made: by then the span may have ended.
type named interface{ EndName() string }

// context is the id of what samples ran for, None when that is nothing. Key stands
// for it, say the pointer to a goroutine's labels; describe tells what a key means
// and is asked once for each. A nil key is nothing. A key may be [named].
//
// The builder holds the keys as they are, so that what they point to is not freed
// and its address not used again while it lives.
func (b *builder) context(key any, describe func(key any) Context) int {
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

func (b *builder) contextOf(c Context) int {
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
func (c *Context) text() string {
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

// trace is the trace of what was added. The builder must not be used any more.
func (b *builder) trace() *Trace {
	if b.unsorted {
		slices.SortStableFunc(b.t.Samples, func(a, b Sample) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	}
	b.rename()
	if b.factor > 1 {
		for i := range b.t.Samples {
			s := &b.t.Samples[i]
			s.Weight = time.Duration(float64(s.Weight) * b.factor)
		}
	}
	t := b.t // without the maps, which may go
	return &t
}

// rename gives contexts the names that their spans have now. Those that are equal then
// become one.
func (b *builder) rename() {
	renamed := false
	for key, id := range b.contexts {
		if id == None {
			continue
		}
		if n, ok := key.(named); ok {
			// Several keys may be of one context, and not all know.
			if name := n.EndName(); name != "" {
				b.t.Contexts[id].SpanName, renamed = name, true
			}
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
