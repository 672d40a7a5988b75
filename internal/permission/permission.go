// Package permission reads PERFLINE_PROFILING, for packages that must not link the sampler. The
// comment of package profiling lists the variable's values.
package permission

import (
	"errors"
	"fmt"

	"github.com/perfline/perfline/internal/environ"
)

// Variable restricts profiling.
const Variable = "PERFLINE_PROFILING"

// ErrNotAllowed is profiling.ErrNotAllowed.
var ErrNotAllowed = errors.New("profiling is not allowed")

// Setting returns the value of [Variable] in lower case: "remote" or "". If the variable forbids
// profiling, Setting returns an error that wraps [ErrNotAllowed]. A wrong value also forbids
// profiling, because operators set the variable to restrict profiling.
func Setting() (string, error) {
	v, ok := environ.Choice(Variable)(environ.Get(Variable))
	switch {
	case v == "off":
		return "", fmt.Errorf("profiling: %w: %s is off", ErrNotAllowed, Variable)
	case v != "" && !ok:
		return "", fmt.Errorf("profiling: %w: %w; it counts as off",
			ErrNotAllowed, environ.Error(Variable))
	}
	return v, nil
}

// Check returns an error if [Variable] forbids profiling. The error wraps [ErrNotAllowed].
func Check() error {
	_, err := Setting()
	return err
}
