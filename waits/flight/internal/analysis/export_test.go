package analysis

import (
	"maps"
	"slices"
)

// Reasons returns the runtime's reasons for blocking that the analysis knows.
func Reasons() []string { return slices.Sorted(maps.Keys(reasons)) }
