package states

import "strings"

// Function returns the innermost function of the interval's stack that is outside the standard library, or else the innermost
// function. It is empty without a stack.
func (i *Interval) Function() string {
	for _, f := range i.Stack {
		if !standard(f.Function) {
			return f.Function
		}
	}
	if len(i.Stack) > 0 {
		return i.Stack[0].Function
	}
	return ""
}

// standard reports whether a function is of the standard library: no element of a host's name is in its import path.
func standard(function string) bool {
	first, _, nested := strings.Cut(function, "/")
	if !nested {
		first, _, _ = strings.Cut(first, ".")
	}
	return first != "main" && !strings.Contains(first, ".")
}
