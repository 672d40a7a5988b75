package sampling

import (
	"runtime"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/profile"
)

// A Symbols value is a table of the calls on the stacks of this process. Equal calls share one
// pointer. The table is not safe for concurrent use. The table stores each call that was ever on a
// stack. The size of the program limits the number of different calls.
type Symbols struct {
	byPC map[uintptr]*profile.Call
	all  map[profile.Call]*profile.Call
}

// NewSymbols returns an empty table of calls.
func NewSymbols() *Symbols {
	return &Symbols{byPC: map[uintptr]*profile.Call{}, all: map[profile.Call]*profile.Call{}}
}

// PC returns the call at the return address pc, a result of runtime.Callers. runtime.Callers
// returns one address for each logical frame, including inlined frames.
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

// Place returns the table's pointer to the call c. If the table does not contain c, Place adds c.
func (t *Symbols) Place(c profile.Call) *profile.Call {
	if p := t.all[c]; p != nil {
		return p
	}
	t.all[c] = &c
	return &c
}
