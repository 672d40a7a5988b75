package serve

import (
	"fmt"
	"net/http"

	"github.com/perfline/perfline/guard"
)

// Data returns the data that a handler serves:
//
//   - If choice is Everything or Summary, the result is choice.
//   - If choice is 0 and authorize is nil, the result is Everything.
//   - If choice is 0 and authorize is set, the result is Summary. Clients of other machines can
//     read single requests only if the program chooses Everything.
//
// For another choice, Data panics. The message of the panic contains pkg.
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
