package analysis

import "github.com/perfline/perfline/profiling/states"

// standard reports whether a function belongs to the standard library, or to a package that counts as such.
func standard(function string) bool { return states.Standard(function) }
