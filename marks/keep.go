package marks

import (
	"context"

	"github.com/perfline/perfline/internal/record"
)

// Keep asks perfline to keep the whole request of ctx, even if the sampler drops this request.
// perfline.Config.Keep limits how many requests per second are kept, including these requests. Call
// Keep before the end of the request:
//
//	if total < 0 {
//		marks.Keep(ctx)
//	}
//
// Keep does nothing in these cases:
//
//   - ctx belongs to no request; beside the SDK's provider, a job of StartJob is no request
//   - the request has ended
//   - the program's tracer keeps no requests
//
// A call costs as much as the search for the span in ctx. Under a span that already contains a mark
// or a child, a call allocates nothing.
func Keep(ctx context.Context) {
	var p record.Place
	p.Locate(ctx)
	if u := p.Timeline.Unit(); u != nil {
		u.Chosen.Store(true)
	}
}
