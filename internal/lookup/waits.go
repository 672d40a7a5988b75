package lookup

import (
	"github.com/perfline/perfline/exporter/requests"
	"github.com/perfline/perfline/profiling/states"
)

// WithWaits returns q with the result of the flight recorder. The recorder may be nil, and may have no result.
func WithWaits(q requests.Request, recorder states.Recorder) requests.Request {
	if recorder == nil {
		return q
	}
	if result, ok := recorder.Result(q.TraceID(), q.Root.SpanID); ok {
		q.States = result
	}
	return q
}
