package sampling

import (
	"runtime"
	"strings"

	"github.com/perfline/perfline/internal/goruntime"
)

// A Symbol is a place in the code that was on a stack. Two places are the same
// exactly when their pointers are.
type Symbol struct {
	Name      string // the function's, with its package's path
	File      string // empty when it is not known
	StartLine int    // where the function begins, 0 when it is not known
	Line      int    // that ran, or that called the next inner function
}

// Package is the import path of the function's package, "" when the name has none.
func (s *Symbol) Package() string {
	name := s.Name
	if i := strings.IndexByte(name, '['); i >= 0 { // type arguments have paths of their own
		name = name[:i]
	}
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		// The linker escapes dots in the last element of a path.
		return strings.ReplaceAll(name[:slash+dot], "%2e", ".")
	}
	return ""
}

// Symbols finds the symbols of a process, each once. It is not safe for concurrent
// use. It grows with the places that were ever on a stack, which the program's size
// bounds.
type Symbols struct {
	byPC map[uintptr]*Symbol
	all  map[Symbol]*Symbol
}

// NewSymbols makes an empty table.
func NewSymbols() *Symbols {
	return &Symbols{byPC: map[uintptr]*Symbol{}, all: map[Symbol]*Symbol{}}
}

// PC finds the symbol of a return address, as runtime.Callers gives them: one for
// each logical frame, inlined ones included.
func (t *Symbols) PC(pc uintptr) *Symbol {
	if s := t.byPC[pc]; s != nil {
		return s
	}
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	s := Symbol{Name: goruntime.FrameName(&f), File: f.File, Line: f.Line, StartLine: goruntime.FrameStartLine(&f)}
	if s.Name == "" {
		s.Name = "unknown"
	}
	p := t.Place(s)
	t.byPC[pc] = p
	return p
}

// Place finds a symbol by its text.
func (t *Symbols) Place(s Symbol) *Symbol {
	if p := t.all[s]; p != nil {
		return p
	}
	t.all[s] = &s
	return &s
}
