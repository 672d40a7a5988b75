package sampling

import (
	"runtime"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/profile"
)

// Symbols is a table of the calls on stacks of this process: equal calls have equal pointers. It is
// not safe for concurrent use. It grows with the places that were ever on a stack, which the
// program's size bounds.
type Symbols struct {
	byPC map[uintptr]*profile.Call
	all  map[profile.Call]*profile.Call
}

// NewSymbols makes an empty table.
func NewSymbols() *Symbols {
	return &Symbols{byPC: map[uintptr]*profile.Call{}, all: map[profile.Call]*profile.Call{}}
}

// PC returns the call of a return address of runtime.Callers, which has one for each logical frame,
// inlined frames included.
func (t *Symbols) PC(pc uintptr) *profile.Call {
	if s := t.byPC[pc]; s != nil {
		return s
	}
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	s := profile.Call{Name: goruntime.FrameName(&f), File: f.File, Line: f.Line,
		StartLine: goruntime.FrameStartLine(&f)}
	if s.Name == "" {
		s.Name = "unknown"
	}
	p := t.Place(s)
	t.byPC[pc] = p
	return p
}

// Place returns the table's pointer for a call.
func (t *Symbols) Place(c profile.Call) *profile.Call {
	if p := t.all[c]; p != nil {
		return p
	}
	t.all[c] = &c
	return &c
}
