package profile

import "fmt"

// HiddenNote returns a sentence about the functions that the origin policy hides from the trace, for pictures and
// files. It is empty if no sample lost all its functions. A trace that was selected from another one has the counts of
// the whole, see [Stats].
func (t *Trace) HiddenNote() string {
	switch s := t.Stats; s.Filtered {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("The origin policy hides functions of some modules: 1 of %d samples has no stack.", max(1, s.Samples))
	default:
		return fmt.Sprintf("The origin policy hides functions of some modules: %d of %d samples have no stack.", s.Filtered, max(s.Filtered, s.Samples))
	}
}
