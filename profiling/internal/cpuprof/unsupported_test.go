//go:build perfline_portable || !(linux || darwin)

package cpuprof

import (
	"errors"
	"testing"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

func TestUnsupported(t *testing.T) {
	if e, err := New(sampling.NewSymbols()); e != nil || !errors.Is(err, ErrUnsupported) {
		t.Errorf("New: %v, %v; want an error that wraps ErrUnsupported", e, err)
	}
}
