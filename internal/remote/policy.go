// Package remote restricts the profiles of callers outside the program.
package remote

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/profiling/profile"
)

// A Policy is a profiling.Policy with methods for the packages of perfline.
type Policy struct {
	Remote  bool
	Modules []string
}

// Check returns nil if remote callers may profile. Otherwise, the error wraps
// [permission.ErrNotAllowed].
func (p Policy) Check() error {
	setting, err := permission.Setting()
	if err != nil {
		return err
	}
	if !p.Remote && setting != "remote" {
		return fmt.Errorf("profiling: clients of the page and of other endpoints, on any machine: "+
			"%w: set Policy.Remote, or %s=remote", permission.ErrNotAllowed, permission.Variable)
	}
	return nil
}

// Visible returns the modules that remote callers may inspect. If p.Modules is empty, the result is
// [Main] and [Standard].
func (p Policy) Visible() []string {
	if len(p.Modules) == 0 {
		return []string{Main, Standard}
	}
	return slices.Clone(p.Modules)
}

// ShowsAll reports whether remote callers may inspect the frames of all modules.
func (p Policy) ShowsAll() bool { return slices.Contains(p.Modules, Any) }

// Select returns the modules for the profile of a remote caller. Without names, the result is all
// visible modules. Otherwise, the result is names. An empty result means all modules. If a named
// module is not visible, the error wraps [permission.ErrNotAllowed].
func (p Policy) Select(names []string) ([]string, error) {
	if err := checkAny(names); err != nil {
		return nil, err
	}
	if p.ShowsAll() {
		return names, nil
	}
	visible := p.Visible()
	for _, m := range names {
		if !slices.Contains(visible, m) {
			return nil, fmt.Errorf("profiling: module %q for a client: %w: "+
				"Policy.Modules has %s", m, permission.ErrNotAllowed, strings.Join(visible, ", "))
		}
	}
	if len(names) == 0 {
		return visible, nil
	}
	return names, nil
}

// Shows reports whether remote callers may inspect the frames of a function. function is the
// runtime's name, such as "net/http.(*conn).serve". Shows ignores p.Remote: see [Policy.Check].
func (p Policy) Shows(function string) bool {
	return p.ShowsAll() || p.filter()(&profile.Call{Name: function})
}

// Shown returns the contents of t without the frames that remote callers must not inspect. Shown
// does not change t. Shown ignores p.Remote: see [Policy.Check].
func (p Policy) Shown(t *profile.Trace) *profile.Trace {
	if p.ShowsAll() {
		return t
	}
	shown := t.WithCalls(p.filter())
	shown.Modules = p.Visible()
	return shown
}

// filter returns a function that reports whether a frame is visible. A name of no module in the
// program hides all frames.
func (p Policy) filter() func(*profile.Call) bool {
	keep, err := Filter(modules.Read(), p.Visible())
	if err != nil {
		return func(*profile.Call) bool { return false }
	}
	return keep
}
