//go:build !go1.26 || go1.27 || perfline_portable

package wall

import (
	"bytes"
	"runtime/pprof"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling/internal/pprofile"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

const (
	name = "wall"
	// self is on the stack of the goroutine that samples.
	self = "github.com/perfline/perfline/profiling/internal/wall.(*Engine).Tick"
	// deepest is how many calls the runtime sees, unless GODEBUG=profstackdepth says otherwise.
	deepest = 128
)

// goroutines takes goroutine profiles, and keeps the memory that they need.
type goroutines struct{ buf bytes.Buffer }

func newGoroutines() goroutines { return goroutines{} }

// profile makes s each of the groups of equal goroutines, but for those that
// sample, and calls each; or it returns that it missed some.
func (g *goroutines) profile(s *sampling.Sample, symbols *sampling.Symbols, each func()) (missed int) {
	g.buf.Reset()
	if err := pprof.Lookup("goroutine").WriteTo(&g.buf, 0); err != nil {
		return 1
	}
	p, err := profile.ParseData(g.buf.Bytes())
	if err != nil || len(p.SampleType) == 0 {
		return 1
	}
	for _, from := range p.Sample {
		pprofile.Fill(s, from, symbols)
		if from.Value[0] < 1 || isSelf(s.Stack) {
			continue
		}
		s.Count = int(from.Value[0])
		s.Cut = len(s.Stack) >= deepest
		each()
	}
	return 0
}

func isSelf(stack []*sampling.Symbol) bool {
	for _, f := range stack {
		if f.Name == self {
			return true
		}
	}
	return false
}
