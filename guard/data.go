package guard

// Data selects the data that a handler serves.
type Data uint8

const (
	// Everything includes single requests with attributes and functions, sessions, profiles, and
	// the stacks of leaked goroutines.
	Everything Data = iota + 1

	// Summary includes only the figures of routes, the runtime's figures and perfline's counts:
	// no single request, trace id, attribute or profile.
	Summary
)
