package marks

import (
	"context"

	"github.com/perfline/perfline/internal/record"
)

// Keep asks for the request in ctx to be kept whole, whatever the sampler says:
// perfline.Config.Keep has the policy, and its ceiling holds for these requests as well. Call it
// while the request runs:
//
//	if total < 0 {
//		marks.Keep(ctx)
//	}
//
// Keep does nothing without a request in ctx, after the request's end, and when the program's
// tracer keeps no requests. It costs as much as finding the span in ctx, and allocates nothing
// under a span that has a mark or a child already.
func Keep(ctx context.Context) {
	var p record.Place
	p.Locate(ctx)
	if u := p.Timeline.Unit(); u != nil {
		u.Chosen.Store(true)
	}
}
