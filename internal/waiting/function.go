package waiting

import "github.com/perfline/perfline/waits"

// Function returns the innermost function of the interval's stack that is outside the standard
// library, or else the one that the goroutine began with. It is empty without a stack.
func Function(i *waits.Interval) string {
	for _, f := range i.Stack {
		if !Standard(f.Function) {
			return f.Function
		}
	}
	if n := len(i.Stack); n > 0 {
		return i.Stack[n-1].Function
	}
	return ""
}
