package live

import (
	"net/http"
	"slices"
	"strings"

	"github.com/perfline/perfline/guard"
)

// summaryPaths are all data that a summary serves. A path that is not here is not in a summary.
var summaryPaths = []string{"/data/v1/overview", "/data/v1/stream", "/data/v1/runtime",
	"/data/v1/routes", "/data/v1/routes/heat"}

const onlySummary = "this page serves only a summary, without requests, recordings and profiles: the program can serve them with live.Config{Data: guard.Everything}"

// dataNames are the names that the page has for its data.
var dataNames = map[guard.Data]string{guard.Everything: "everything", guard.Summary: "summary"}

// summarized lets only requests for a summary through to next.
func summarized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.Path
		file, isFile := strings.CutPrefix(p, "/page/")
		switch {
		case p == "/", isFile && !strings.Contains(file, "/"), slices.Contains(summaryPaths, p):
			next.ServeHTTP(w, r)
		default:
			refuse(w, http.StatusNotFound, onlySummary)
		}
	})
}

// A pageState describes the handler, so that a page notices another program behind its address.
type pageState struct {
	Instance string  `json:"instance"` // random, another one after each start of the program
	Started  float64 `json:"started"`  // since the epoch of Unix
	Data     string  `json:"data"`     // "everything" or "summary"
}

// serviceOnly is the overview of a summary.
type serviceOnly struct {
	Service string `json:"service"`
}

func (h *handler) serviceOnly() serviceOnly {
	return serviceOnly{serviceOf(h.recent().Requests())}
}
