package profiling

import (
	"fmt"

	"github.com/perfline/perfline/profiling/internal/labels"
)

// A Scope says which spans samples name, or which spans carry an attribute. Its zero
// value is what the place where it is used says.
type Scope uint8

// The scopes.
const (
	// EverySpan is the span that was active on the goroutine: the innermost.
	EverySpan Scope = iota + 1
	// LocalRoots is the first span of the trace in this process, for a request its server
	// span, whichever span under it was active: as long as nobody wants every span,
	// others cost next to nothing. Code that goes on when that span has ended counts for
	// none, or for a span of its own. The engine "window" knows only the text of labels: its samples
	// name the active span while another session wants every span.
	LocalRoots
)

func (s Scope) check(option string) error {
	if s > LocalRoots {
		return fmt.Errorf("profiling: %s %d: must be EverySpan (%d), LocalRoots (%d) or 0", option, s, EverySpan, LocalRoots)
	}
	return nil
}

// hold has spans label their goroutines as the scope of a session needs it, until release
// is called.
func (s Scope) hold() (release func()) {
	if s == LocalRoots {
		return labels.HoldLocalRoots()
	}
	return labels.Hold()
}
