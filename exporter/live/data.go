package live

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Data selects the data that a page serves.
type Data uint8

const (
	// Everything has requests with their attributes and functions, recordings, profiles, and the stacks of leaked goroutines.
	Everything Data = iota + 1

	// Summary has routes with their figures, the runtime's figures, and perfline's counts. It has no single request.
	Summary
)

// String returns the name that the page's data has for d.
func (d Data) String() string {
	switch d {
	case Everything:
		return "everything"
	case Summary:
		return "summary"
	}
	return fmt.Sprintf("Data(%d)", uint8(d))
}

// summaryPaths are all data that a summary serves. A path that is not here is not in a summary.
var summaryPaths = []string{"/data/v1/overview", "/data/v1/stream", "/data/v1/runtime", "/data/v1/routes", "/data/v1/routes/heat"}

const onlySummary = "this page serves only a summary, without requests, recordings and profiles: the program can serve them with live.Config{Data: live.Everything}"

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
	newest, _ := h.source.Recent().Snapshots()
	return serviceOnly{serviceOf(newest)}
}
