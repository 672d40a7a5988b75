package guard

// Data selects the data that a handler gives to its clients.
type Data uint8

const (
	// Everything has requests with their attributes and functions, recordings, profiles, and the
	// stacks of leaked goroutines.
	Everything Data = iota + 1

	// Summary has routes with their figures, the runtime's figures, and perfline's counts. It has
	// no single request, trace id, attribute or profile.
	Summary
)
