package profiling

import (
	"context"

	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/internal/remote"
)

// Names for [Options].Modules beside the paths of modules.
const (
	ModuleMain     = remote.Main     // the program's main module
	ModuleStandard = remote.Standard // the standard library, the runtime included
	ModuleAny      = remote.Any      // in a [Policy] only: all modules
)

// ErrNotAllowed is wrapped by the error of a start that a [Policy] or the variable
// PERFLINE_PROFILING forbids (JS Self-Profiling, Feature Policy).
var ErrNotAllowed = permission.ErrNotAllowed

// A Policy says what callers outside the program may profile, by a request for example. The zero
// Policy allows nothing (the feature's default allowlist is "none").
type Policy struct {
	Remote bool // remote callers may profile

	// Modules are the modules whose frames remote callers may see, as in [Options].Modules, or
	// [ModuleAny]; empty means [ModuleMain] and [ModuleStandard]. Frames name files as they were
	// when the program was built, with their folders unless it was built with -trimpath.
	Modules []string
}

// Start is [Start] for a remote caller. o.Modules must be among the policy's modules; empty means
// all of the policy's modules. The error wraps [ErrNotAllowed] if the policy forbids the profile.
func (p Policy) Start(ctx context.Context, o Options) (*Profiler, error) {
	of := remote.Policy(p)
	if err := of.Check(); err != nil {
		return nil, err
	}
	var err error
	if o.Modules, err = of.Select(o.Modules); err != nil {
		return nil, err
	}
	return Start(ctx, o)
}
