package marks

import (
	"context"

	"github.com/perfline/perfline/internal/record"
)

// Keep asks perfline to keep the whole request of ctx, whatever the sampler decides. The policy is
// perfline.Config.Keep, and its ceiling also holds for these requests. Call Keep before the end of
// the request:
//
//	if total < 0 {
//		marks.Keep(ctx)
//	}
//
// Keep does nothing without a request in ctx, after the request's end, and when the program's
// tracer keeps no requests. A call costs as much as finding the span in ctx, and allocates nothing
// under a span that has a mark or a child already.
func Keep(ctx context.Context) {
	var p record.Place
	p.Locate(ctx)
	if u := p.Timeline.Unit(); u != nil {
		u.Chosen.Store(true)
	}
}
