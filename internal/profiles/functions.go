package profiles

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/profiling/profile"
)

// Waits is the name of a pseudo function. In functions, trees and differences, the innermost
// function of a waiting goroutine seems to call Waits.
const Waits = "[waits]"

// A Function is a function that ran, with the time of the function's samples.
type Function struct {
	// Name is the name with the package's path. For [profile.NoStack] and [Waits], the fields from
	// Module to HotLine are empty.
	Name string
	// Module is the path of the function's module, which may be the main module. Module is "std"
	// for the standard library. Module is empty if the module is unknown.
	Module  string
	Version string // version of the module; empty if unknown
	File    string // empty if unknown
	Line    int    // first line of the function; 0 if unknown
	// HotLine is the line of the function with the most Self time. HotLine is 0 if no line ran or
	// if lines are unknown.
	HotLine int

	Self    time.Duration // time in the function itself
	Total   time.Duration // time in the function and the callees; recursive calls count once
	Samples int           // samples of Self
}

// A leaf is the position of samples.
type leaf struct {
	stack int // index in Trace.Stacks; None without a stack
	at    profile.Position
	waits bool
}

type weight struct {
	time    time.Duration
	samples int
}

// leaves sums the samples of each position. They must be the trace's.
func leaves(t *profile.Trace, samples iter.Seq[profile.Sample]) map[leaf]weight {
	all := map[leaf]weight{}
	for s := range samples {
		l := leaf{stack: profile.None}
		if at, ok := t.Position(s); ok {
			l = leaf{s.StackID, at, s.Marker == profile.Idle}
		}
		w := all[l]
		w.time += s.Weight
		w.samples++
		all[l] = w
	}
	return all
}

// Functions returns the functions on the stacks of samples, the largest Self first. samples must be
// samples of t. The Self times add up to the weights of the samples.
//
//   - Functions joins functions with the same name. File and Line are from the stack with the most
//     samples.
//   - A sample without a stack counts for the function [profile.NoStack].
//   - The time of a waiting goroutine counts for the function [Waits]. The goroutine's innermost
//     function is the caller. For a trace of EngineWall, Waits contains all waiting time.
func Functions(t *profile.Trace, samples iter.Seq[profile.Sample]) []Function {
	b := functionsBuilder{
		t: t, ids: map[string]int{}, of: make([]int, len(t.Frames)),
		lines: map[functionLine]time.Duration{},
	}
	for i := range b.of {
		b.of[i] = profile.None
	}
	all := leaves(t, samples)
	// A function's file must not depend on the order of a map. Leaves of one stack have the same
	// frames: their order does not matter.
	order := slices.SortedFunc(maps.Keys(all), func(a, b leaf) int {
		return cmp.Or(cmp.Compare(all[b].samples, all[a].samples), cmp.Compare(a.stack, b.stack))
	})
	for _, l := range order {
		b.add(l, all[l])
	}
	for l, time := range b.lines {
		f := &b.list[l.function]
		best := b.lines[functionLine{l.function, f.HotLine}]
		if f.HotLine == 0 || time > best || time == best && l.line < f.HotLine {
			f.HotLine = l.line
		}
	}
	slices.SortFunc(b.list, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total),
			cmp.Compare(a.Name, b.Name))
	})
	return b.list
}

// A functionLine is a line of a function, by its index.
type functionLine struct{ function, line int }

type functionsBuilder struct {
	t       *profile.Trace
	list    []Function
	ids     map[string]int // indexes in list, by name
	of      []int          // indexes in list, by frame; None until the frame is seen
	counted []int          // by index in list: the last leaf in Total
	leaves  int
	lines   map[functionLine]time.Duration // time of the lines that ran
}

func (b *functionsBuilder) add(l leaf, w weight) {
	b.leaves++
	if l.stack == profile.None {
		b.count(b.byName(profile.NoStack), w, true)
		return
	}
	inner := true
	if l.waits {
		b.count(b.byName(Waits), w, true)
		inner = false
	}
	for id, at, ok := l.stack, l.at, true; ok; at, ok = b.t.Caller(at) {
		stack := b.t.Stacks[id]
		id = stack.ParentID
		if b.of[stack.FrameID] == profile.None {
			b.of[stack.FrameID] = b.byCall(b.t.Call(at))
		}
		f := b.of[stack.FrameID]
		b.count(f, w, inner)
		if inner {
			if line := b.t.Call(at).Line; line > 0 {
				b.lines[functionLine{f, line}] += w.time
			}
		}
		inner = false
	}
}

// count adds the time of the present leaf to a function.
func (b *functionsBuilder) count(f int, w weight, self bool) {
	if self {
		b.list[f].Self += w.time
		b.list[f].Samples += w.samples
	}
	if b.counted[f] != b.leaves {
		b.counted[f] = b.leaves
		b.list[f].Total += w.time
	}
}

// byCall returns the index of the function of a call.
func (b *functionsBuilder) byCall(c profile.Call) int {
	i := b.byName(c.Name)
	if f := &b.list[i]; f.File == "" && c.File != "" {
		f.File, f.Line = c.File, c.StartLine
	}
	return i
}

// byName returns the index of the function with a name.
func (b *functionsBuilder) byName(name string) int {
	i, known := b.ids[name]
	if !known {
		i = len(b.list)
		b.ids[name] = i
		m := modules.Read().Of(name)
		b.list = append(b.list, Function{Name: name, Module: m.Path, Version: m.Version})
		b.counted = append(b.counted, profile.None)
	}
	return i
}
