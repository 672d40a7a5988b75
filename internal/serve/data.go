package serve

import (
	"fmt"
	"net/http"

	"github.com/perfline/perfline/guard"
)

// Data returns the data that a handler of a package serves, by its configuration. Without a choice,
// clients that Authorize allows get a summary: a client of another machine sees single requests
// only if the program asks for that. Data panics if the choice does not exist.
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
