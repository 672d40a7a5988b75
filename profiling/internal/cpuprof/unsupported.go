//go:build !linux && !darwin

package cpuprof

import (
	"fmt"
	"runtime"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// An Engine is not available on this system. See [New].
type Engine struct{ sampling.Engine }

// New returns an error that wraps [ErrUnsupported].
func New(*sampling.Symbols, time.Duration) (*Engine, error) {
	return nil, fmt.Errorf("%w on %s, only on linux and darwin", ErrUnsupported, runtime.GOOS)
}
