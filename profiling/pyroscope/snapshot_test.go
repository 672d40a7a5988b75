package pyroscope

import (
	"bytes"
	"testing"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/continuous"
)

// A large profile of the runtime's is sent in parts as well.
func TestLargeSnapshot(t *testing.T) {
	of := func(p *pprofpb.Profile) int {
		var data bytes.Buffer
		if err := p.Write(&data); err != nil {
			t.Fatal(err)
		}
		all, err := encodeRuntime(continuous.Runtime{Kind: continuous.Heap, Data: data.Bytes()}, fitter{})
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if small, large := of(flat(100, 0)), of(flat(2*maxSamples, 0)); small != 1 || large != 2 {
		t.Errorf("%d and %d parts, want 1 and 2", small, large)
	}
}
