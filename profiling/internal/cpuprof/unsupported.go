//go:build !linux && !darwin

package cpuprof

import (
	"fmt"
	"runtime"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// An Engine takes no samples, because this operating system is not supported. [New] returns an
// error.
type Engine struct{ sampling.Engine }

// New always returns an error that wraps [ErrUnsupported], because this operating system is not
// supported.
func New(*sampling.Symbols, time.Duration) (*Engine, error) {
	return nil, fmt.Errorf("%w on %s, only on linux and darwin", ErrUnsupported, runtime.GOOS)
}
