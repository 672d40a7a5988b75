package states

// Function returns the innermost function of the interval's stack that is outside the standard library, or else the innermost
// function. It is empty without a stack.
func (i *Interval) Function() string {
	for _, f := range i.Stack {
		if !Standard(f.Function) {
			return f.Function
		}
	}
	if len(i.Stack) > 0 {
		return i.Stack[0].Function
	}
	return ""
}
