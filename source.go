package perfline

import (
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/record"
	memory "github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/internal/setup"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/requests"
	"github.com/perfline/perfline/waits"
)

// A Source provides the data of the live page, of the agents' tools and of [Check]. A [Pipeline] is
// a Source. A Source of the program must embed a *Pipeline, and may replace some methods. The
// methods are called concurrently.
type Source interface {
	Recent() *requests.Store      // never nil
	Sessions() *sessions.Recorder // nil without sessions
	Waits() waits.Recorder        // nil without a waits recorder
	Runtime() *Runtime            // nil without a history
	Counts() []exporter.Count
	LastMinute() *profile.Trace // nil without a continuous profiler
	Deaths() *Deaths            // nil without a black box

	setup() setup.Start
}

// A Runtime stores the metrics of the Go runtime for the last minutes. The live page and the
// agents' tools display the metrics.
type Runtime runtimestats.History

func newStore(c Config, res *resource.Resource) *memory.Recent {
	return memory.NewRecent(memory.Config{
		Requests: c.Recent.Newest, Slowest: c.Recent.Slowest, KeptRequests: c.Recent.Kept,
		MaxSpans: c.Recent.MaxSpans, MaxBytes: c.Recent.MaxBytes,
		Timeline: (*record.Timeline)(c.Timeline), Resource: res,
		SampledOnly: c.TracerProvider != nil,
	})
}
