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

// ErrNotAllowed reports that a [Policy] or the variable PERFLINE_PROFILING forbids profiling. The
// errors of functions that start profiling wrap ErrNotAllowed. See JS Self-Profiling, Feature
// Policy.
var ErrNotAllowed = permission.ErrNotAllowed

// A Policy limits the profiles that remote callers may start. Remote callers are the clients of the
// live page, of the agents' tools and of other endpoints, on this machine too. The zero Policy
// forbids all profiles, like the default allowlist "none" of JS Self-Profiling.
type Policy struct {
	Remote bool // remote callers may profile

	// Modules lists the modules whose frames remote callers may read, as in [Options].Modules, or
	// [ModuleAny]. An empty list means [ModuleMain] and [ModuleStandard]. Frames contain the file
	// names at build time. Unless the program was built with -trimpath, the names include folders.
	//
	// The causes of slow requests name functions of the main module, and of the modules listed
	// here, before functions of libraries.
	Modules []string
}

// Start checks the policy, and then calls the function [Start] for a remote caller. If the policy
// forbids the profile, the error wraps [ErrNotAllowed]. o.Modules must be a subset of the modules
// of the policy. An empty o.Modules selects all modules of the policy.
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
