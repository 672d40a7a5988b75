package waiting

import "github.com/perfline/perfline/waits"

// Function returns the innermost function outside the standard library in the interval's stack, or
// else the goroutine's first function, or "" without a stack.
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
