package guard

// Data selects the data that a handler may serve: [Everything] or [Summary].
type Data uint8

const (
	// Everything allows single requests with attributes and functions, sessions, profiles, and the
	// stacks of leaked goroutines.
	Everything Data = iota + 1

	// Summary allows only the figures of routes, the runtime's figures and perfline's counts.
	// Summary allows no single request, trace id, attribute or profile.
	Summary
)
