package profiling

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/profiling/profile"
)

// ErrNotAllowed is wrapped by the error of a start that a [Policy] or the variable
// PERFLINE_PROFILING forbids (JS Self-Profiling, Feature Policy).
var ErrNotAllowed = permission.ErrNotAllowed

// A Policy says what remote callers may profile: those outside the program, by a request for
// example. The zero Policy allows nothing (the feature's default allowlist is "none").
type Policy struct {
	Remote bool // remote callers may profile

	// Modules are the modules whose frames remote callers may see, as in [Options].Modules, or
	// [ModuleAny]; empty means [ModuleMain] and [ModuleStandard]. Frames name files as they were
	// when the program was built, with their folders unless it was built with -trimpath.
	Modules []string
}

// CheckRemote returns an error, which wraps [ErrNotAllowed], unless remote callers may profile.
func (p Policy) CheckRemote() error {
	setting, err := permission.Setting()
	if err != nil {
		return err
	}
	if !p.Remote && setting != "remote" {
		return fmt.Errorf("profiling: a remote caller: %w: set Policy.Remote, or %s=remote",
			ErrNotAllowed, permission.Variable)
	}
	return nil
}

// Start is [Start] for a remote caller. o.Modules must be among the policy's modules;
// empty means all of these. The error wraps [ErrNotAllowed] if the policy
// forbids it.
func (p Policy) Start(ctx context.Context, o Options) (*Profiler, error) {
	if err := p.CheckRemote(); err != nil {
		return nil, err
	}
	if err := checkAny(o.Modules); err != nil {
		return nil, err
	}
	visible := p.Visible()
	if slices.Contains(visible, ModuleAny) {
		return Start(ctx, o)
	}
	for _, m := range o.Modules {
		if !slices.Contains(visible, m) {
			return nil, fmt.Errorf(
				"profiling: module %q for a remote caller: %w: Policy.Modules has %s", m,
				ErrNotAllowed, strings.Join(visible, ", "))
		}
	}
	if len(o.Modules) == 0 {
		o.Modules = visible
	}
	return Start(ctx, o)
}

// Shows reports whether remote callers may see frames of a function, by the name that the runtime
// has for it, such as "net/http.(*conn).serve". It does not look at Remote: see
// [Policy.CheckRemote].
func (p Policy) Shows(function string) bool {
	visible := p.Visible()
	if slices.Contains(visible, ModuleAny) {
		return true
	}
	shows, err := filter(modules.Read(), visible)
	return err == nil && shows(&profile.Call{Name: function})
}

// Shown returns a trace with the frames that remote callers may see. It does not look at Remote:
// see [Policy.CheckRemote].
func (p Policy) Shown(t *profile.Trace) *profile.Trace {
	visible := p.Visible()
	if slices.Contains(visible, ModuleAny) {
		return t
	}
	keep, err := filter(modules.Read(), visible)
	if err != nil { // a module that the program does not have hides all, as in Shows
		keep = func(*profile.Call) bool { return false }
	}
	shown := t.WithCalls(keep)
	shown.Modules = visible
	return shown
}

// Visible returns the modules whose frames remote callers may see.
func (p Policy) Visible() []string {
	if len(p.Modules) == 0 {
		return []string{ModuleMain, ModuleStandard}
	}
	return slices.Clone(p.Modules)
}
