package wall

import (
	"bytes"
	"runtime/pprof"
	"slices"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling/internal/pprofile"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

const (
	// tickFunction is on the stack of the sampling goroutine.
	tickFunction = "github.com/perfline/perfline/profiling/internal/wall.(*Engine).Tick"
	deepest      = 128 // calls in a stack of the runtime, without GODEBUG=profstackdepth
)

// An encodedProfile takes goroutine profiles in the format of runtime/pprof, and reuses their
// memory. A tick costs three to five times as much as with a recordProfile.
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
		isTick := func(c *profile.Call) bool { return c.Name == tickFunction }
		if from.Value[0] < 1 || slices.ContainsFunc(s.Stack, isTick) {
			continue
		}
		s.Count = int(from.Value[0])
		s.Cut = len(s.Stack) >= deepest
		each()
	}
	return 0
}
