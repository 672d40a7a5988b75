package viewers

import "github.com/perfline/perfline/profiling/profile"

// A stackTable numbers the different stacks of a trace's samples. It reads each stack once,
// whatever the number of its samples, and reads callers that stacks share once.
type stackTable struct {
	trace *profile.Trace
	frame func(c profile.Call, category int) int // the index of a frame in the file

	table[stack]
	known map[stackKey]int
}

type stack struct{ parent, frame int } // parent is an index or -1

// A stackKey identifies a stack. category is the category of the innermost frame.
type stackKey struct {
	at       profile.Position
	category int
}

// of returns the index of a sample's stack.
func (t *stackTable) of(s profile.Sample, category int) int {
	at, ok := t.trace.Position(s)
	if !ok {
		return t.add(stack{-1, t.frame(profile.Call{Name: profile.NoStack}, category)})
	}
	return t.find(stackKey{at, category})
}

// find returns the index of a stack. All callers are of categoryGo.
func (t *stackTable) find(key stackKey) int {
	if index, known := t.known[key]; known {
		return index
	}
	parent := -1
	if caller, ok := t.trace.Caller(key.at); ok {
		parent = t.find(stackKey{caller, categoryGo})
	}
	index := t.add(stack{parent, t.frame(t.trace.Call(key.at), key.category)})
	if t.known == nil {
		t.known = map[stackKey]int{}
	}
	t.known[key] = index
	return index
}
