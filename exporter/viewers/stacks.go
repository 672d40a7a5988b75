package viewers

import (
	"slices"

	"github.com/perfline/perfline/profiling/profile"
)

// A stackTable gives each different stack of a trace's samples an index. It goes through the
// frames of a stack once, however many samples have it, and through the callers that stacks
// share once for all of them.
type stackTable struct {
	trace *profile.Trace
	frame func(c profile.Call, category int) int // the index of a frame in the file

	table[stack]
	known map[stackKey]int
	path  []stackKey // of one sample
}

type stack struct{ parent, frame int } // parent is an index or -1

// A stackKey stands for a stack: its innermost frame's category is the sample's.
type stackKey struct {
	at       profile.Position
	category int
}

// noStack is the function of samples without a stack, as in pprof files, so that no time is missing.
const noStack = "[no-stack]"

// of returns the index of a sample's stack. All callers are of categoryGo.
func (t *stackTable) of(s profile.Sample, category int) int {
	at, ok := t.trace.Position(s)
	key := stackKey{at, category}
	index, known := t.known[key]
	if known {
		return index
	}
	if !ok {
		return t.put(key, stack{-1, t.frame(profile.Call{Name: noStack}, category)})
	}
	t.path, index = t.path[:0], -1
	for {
		t.path = append(t.path, key)
		if at, ok = t.trace.Caller(at); !ok {
			break
		}
		key = stackKey{at, categoryGo}
		if i, known := t.known[key]; known {
			index = i
			break
		}
	}
	for _, key := range slices.Backward(t.path) {
		index = t.put(key, stack{index, t.frame(t.trace.Call(key.at), key.category)})
	}
	return index
}

func (t *stackTable) put(key stackKey, s stack) int {
	if t.known == nil {
		t.known = map[stackKey]int{}
	}
	index := t.add(s)
	t.known[key] = index
	return index
}
