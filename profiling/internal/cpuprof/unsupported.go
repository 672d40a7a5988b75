//go:build !go1.26 || go1.27 || perfline_portable || !(linux || darwin)

package cpuprof

import (
	"fmt"
	"runtime"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// An Engine is never made here, see [New].
type Engine struct{ sampling.Engine }

// New fails with an error that wraps [ErrUnsupported].
func New(*sampling.Symbols) (*Engine, error) {
	return nil, fmt.Errorf("%w: that is known for Go 1.26 on linux and darwin, in builds without the tag perfline_portable; this is %s on %s",
		ErrUnsupported, runtime.Version(), runtime.GOOS)
}
