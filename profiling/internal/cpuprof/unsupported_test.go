//go:build perfline_portable || !(linux || darwin)

package cpuprof

import (
	"errors"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

func TestUnsupportedBuild(t *testing.T) {
	if e, err := New(sampling.NewSymbols(), time.Second); e != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("New: %v, %v; want an error that wraps ErrUnsupported", e, err)
	}
}
