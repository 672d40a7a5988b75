package serve

import (
	"fmt"
	"net/http"

	"github.com/perfline/perfline/guard"
)

// Data returns the data that a handler serves. A choice of 0 means Everything without Authorize,
// and Summary with Authorize: the program must ask for Everything before clients of other machines
// see single requests. Data panics with the name of pkg if choice is invalid.
func Data(pkg string, choice guard.Data, authorize func(*http.Request) error) guard.Data {
	switch {
	case choice == guard.Everything, choice == guard.Summary:
		return choice
	case choice != 0:
		panic(fmt.Sprintf("%s: Config.Data %v: must be Everything or Summary", pkg, choice))
	case authorize != nil:
		return guard.Summary
	default:
		return guard.Everything
	}
}
