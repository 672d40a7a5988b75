package profiling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/environ"
)

// ErrNotAllowed is the error of starting a session that the application, or who
// runs it, did not allow (JS Self-Profiling, Feature Policy).
var ErrNotAllowed = errors.New("profiling is not allowed")

// EnvVariable is the environment variable that says who may start sessions: "off"
// nobody; "remote" the application's own code and those from outside, as if their
// [Policy] allowed it; empty, the application's own code, and those from outside
// if their Policy allows it. Any other value counts as "off".
const EnvVariable = "PERFLINE_PROFILING"

// A Policy says what sessions may do that somebody outside the program asks for, by
// a request for example. The zero Policy refuses them all (the feature's default
// allowlist is "none").
type Policy struct {
	Remote bool // such sessions may be started

	// Modules are the modules whose frames such sessions may see, as in
	// [Options].Modules, or [ModuleAny]; empty means [ModuleMain] and [ModuleStandard]. Frames name files
	// as they were when the program was built, with their folders unless it was built with
	// -trimpath.
	Modules []string
}

// Check says why somebody outside may not start sessions, nil if they may. The error wraps
// [ErrNotAllowed] when the policy refuses.
func (p Policy) Check() error {
	setting, err := environment()
	if err != nil {
		return err
	}
	if !p.Remote && setting != "remote" {
		return fmt.Errorf("profiling: a session from outside: %w: set Policy.Remote, or %s=remote", ErrNotAllowed, EnvVariable)
	}
	return nil
}

// Check says why nobody may start sessions, the application itself included, nil if it
// may. The error wraps [ErrNotAllowed] when [EnvVariable] is off.
func Check() error {
	_, err := environment()
	return err
}

// Start is [Start] for somebody outside. o.Modules must be among those of the policy;
// empty means all of these. The error wraps [ErrNotAllowed] when the policy
// refuses.
func (p Policy) Start(ctx context.Context, o Options) (*Profiler, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := checkAny(o.Modules); err != nil {
		return nil, err
	}
	seen := p.Modules
	if len(seen) == 0 {
		seen = []string{ModuleMain, ModuleStandard}
	}
	if slices.Contains(seen, ModuleAny) {
		return Start(ctx, o)
	}
	for _, m := range o.Modules {
		if !slices.Contains(seen, m) {
			return nil, fmt.Errorf("profiling: module %q in a session from outside: %w: Policy.Modules has %s", m, ErrNotAllowed, strings.Join(seen, ", "))
		}
	}
	if len(o.Modules) == 0 {
		o.Modules = seen
	}
	return Start(ctx, o)
}

// environment returns the value of EnvVariable, in lower case. A wrong value forbids profiling, because
// the variable was set to restrict it.
func environment() (string, error) {
	v, ok := environ.Choice(EnvVariable)(environ.Get(EnvVariable))
	switch {
	case v == "off":
		return "", fmt.Errorf("profiling: %w: %s is off", ErrNotAllowed, EnvVariable)
	case v != "" && !ok:
		return "", fmt.Errorf("profiling: %w: %w; it counts as off", ErrNotAllowed, environ.Error(EnvVariable))
	}
	return v, nil
}
