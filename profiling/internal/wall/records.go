package wall

import (
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

// A recordProfile takes goroutine profiles as the runtime's records, and reuses their memory.
type recordProfile struct {
	source  func([]goruntime.StackRecord, []unsafe.Pointer) (int, bool)
	records []goruntime.StackRecord
	tags    []unsafe.Pointer
	index   map[key]int // in groups
	groups  []group
}

// A key identifies a group: the bytes of the stack's return addresses, and the labels.
type key struct {
	stack string
	tag   unsafe.Pointer
}

type group struct {
	stack []uintptr
	tag   unsafe.Pointer
	count int
}

func newRecordProfile() goroutines {
	return &recordProfile{source: goruntime.GoroutineProfile, index: map[key]int{}}
}

// profile implements [goroutines].
func (g *recordProfile) profile(s *sampling.Sample, symbols *sampling.Symbols,
	each func()) (missed int) {
	n, ok := g.read()
	if !ok {
		return n
	}
	for i, r := range g.records[:n] {
		if i == 0 || r.Stack == nil { // the caller; a goroutine that ended, or is the runtime's now
			continue
		}
		words := unsafe.SliceData(r.Stack)
		k := key{unsafe.String((*byte)(unsafe.Pointer(words)),
			len(r.Stack)*int(unsafe.Sizeof(*words))), g.tags[i]}
		at, known := g.index[k]
		if !known {
			at = len(g.groups)
			g.index[k] = at
			g.groups = append(g.groups, group{stack: r.Stack, tag: k.tag})
		}
		g.groups[at].count++
	}
	for _, of := range g.groups {
		s.Stack = s.Stack[:0]
		for _, pc := range of.stack {
			s.Stack = append(s.Stack, symbols.PC(pc))
		}
		// The outermost call of a whole stack is goexit.
		outermost := len(s.Stack) - 1
		s.Cut = outermost < 0 || s.Stack[outermost].Name != "runtime.goexit"
		if !s.Cut {
			s.Stack = s.Stack[:outermost]
		}
		s.Tag, s.Count = of.tag, of.count
		each()
	}
	s.Tag = nil
	// When a goroutine ends meanwhile, the runtime writes fewer records than it reports: old
	// records would reappear at the next tick. They would also hold memory.
	clear(g.records)
	clear(g.tags)
	clear(g.index)
	clear(g.groups)
	g.groups = g.groups[:0]
	return 0
}

// read fills records and tags, and returns their number. It fails when three times the number of
// goroutines grew before the read.
func (g *recordProfile) read() (n int, ok bool) {
	if len(g.records) == 0 {
		n, _ = g.source(nil, nil)
		g.grow(n)
	}
	for range 3 {
		if n, ok = g.source(g.records, g.tags); ok {
			return n, true
		}
		g.grow(n)
	}
	return n, false
}

func (g *recordProfile) grow(n int) {
	n += n/4 + 16
	g.records, g.tags = make([]goruntime.StackRecord, n), make([]unsafe.Pointer, n)
}
