package wall

import (
	"bytes"
	"runtime/pprof"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling/internal/pprofile"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

const (
	// self is on the stack of the goroutine that samples.
	self = "github.com/perfline/perfline/profiling/internal/wall.(*Engine).Tick"
	// deepest is how many calls the runtime sees, unless GODEBUG=profstackdepth says otherwise.
	deepest = 128
)

// encodedProfile takes goroutine profiles as runtime/pprof writes them, and keeps the memory that
// they need. A tick costs three to five times as much.
type encodedProfile struct{ buf bytes.Buffer }

func newEncodedProfile() goroutines { return &encodedProfile{} }

// profile implements [goroutines].
func (g *encodedProfile) profile(s *sampling.Sample, symbols *sampling.Symbols,
	each func()) (missed int) {
	g.buf.Reset()
	if err := pprof.Lookup("goroutine").WriteTo(&g.buf, 0); err != nil {
		return 1
	}
	p, err := pprofpb.ParseData(g.buf.Bytes())
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

func isSelf(stack []*profile.Call) bool {
	for _, f := range stack {
		if f.Name == self {
			return true
		}
	}
	return false
}
