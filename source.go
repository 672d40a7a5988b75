package perfline

import (
	"github.com/perfline/perfline/exporter"
	memory "github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/requests"
	"github.com/perfline/perfline/waits"
)

// A Source has what the live page and the agents' tools show. A [Pipeline] is one. Another Source
// embeds a *Pipeline and replaces some methods: only a Pipeline makes a Store and a Runtime. The
// methods are called concurrently.
type Source interface {
	Recent() *requests.Store      // never nil
	Sessions() *sessions.Recorder // nil if the program has none
	Waits() waits.Recorder        // of what slow requests waited for; nil if the program has none
	Runtime() *Runtime            // nil if the program has none
	Counts() []exporter.Count
	LastMinute() *profile.Trace // of the profiler that runs all the time; nil if none runs
}

// Runtime has the figures of the Go runtime in the last minutes, for the live page and the agents'
// tools.
type Runtime runtimestats.History

// newStore returns an empty store of requests.
func newStore(c requests.Config) *memory.Recent {
	return memory.NewRecent(memory.Config{
		Requests: c.Newest, Slowest: c.Slowest, KeptRequests: c.Kept, Examples: c.Examples,
		MaxSpans: c.MaxSpans, MaxBytes: c.MaxBytes,
	})
}
