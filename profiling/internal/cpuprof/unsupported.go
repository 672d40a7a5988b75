//go:build !linux && !darwin

package cpuprof

import (
	"fmt"
	"runtime"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// An Engine does not exist on this system, see [New].
type Engine struct{ sampling.Engine }

// New fails with an error that wraps [ErrUnsupported].
func New(*sampling.Symbols, time.Duration) (*Engine, error) {
	return nil, fmt.Errorf("%w on %s, only on linux and darwin", ErrUnsupported, runtime.GOOS)
}
