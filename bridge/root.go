package bridge

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
)

// A Root says how a local root ended. A local root is a span without a parent, or with a parent in
// another process. [Spans.Root] returns a Root, and TracerProviderConfig.OnSlow and a
// waits.Recorder get one. A Root is a value without memory in common with the provider: a program
// may keep it.
type Root struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID

	// Name is the span's name at its end. Of a request, it is the route, such as "GET /items/{id}".
	// It is what the program gave, and may be text that is not UTF-8.
	Name string

	// Class says what the local root stands for:
	//
	//   - "request": a unit of work with an end of its own, which is a span of kind server or
	//     consumer or a job of marks.StartJob
	//   - "stream": a request that lasts as long as its client stays
	//   - "background": a call or a measure without a request
	//   - "housekeeping": in the background, work of a pool of connections, such as dialing or
	//     checking
	Class string

	// Start and End have readings of the monotonic clock if the span has them: then End.Sub(Start)
	// is the duration, also when the system's clock was set meanwhile.
	Start, End time.Time

	Failed bool // the span's status is Error

	// Keep is the reason why a [KeepPolicy] keeps the request: "chosen", "failed", "slow" or
	// "share". It is "" for a request that is not kept, for another class than "request" and
	// "stream", and without a policy.
	Keep string

	// Refused is the number of marks, measures and spans of the request that had no room in memory
	// before the policy decided. It is 0 in OnSlow, and for a request that the sampler sampled.
	Refused uint32
}

// publicRoot returns the end of a local root as the program's code gets it.
func publicRoot(r *local.Root) Root {
	return Root{
		TraceID: r.TraceID, SpanID: r.SpanID, Name: r.Name, Class: r.Class.String(),
		Start: r.Start, End: r.End, Failed: r.Failed, Keep: r.Keep.String(), Refused: r.Refused,
	}
}
