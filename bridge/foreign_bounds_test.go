package bridge

import (
	"context"
	"testing"

	"github.com/perfline/perfline/observer"
)

// waiting are the spans of other instrumentation that have not ended.
func (u *underWay) waiting() (n int) {
	for i := range u.shards {
		s := &u.shards[i]
		s.mu.Lock()
		n += len(s.timelines)
		s.mu.Unlock()
	}
	return n
}

// Spans that never end take up some room and no more, and keep no others from
// joining; those that made room are counted, and all go their way to the next
// processor.
func TestForeignSpansUnderWayAreBounded(t *testing.T) {
	p, tp, base := setUp(&capture{})
	tl := observer.FromContext(base).NewChild()
	ctx := observer.NewContext(context.Background(), tl)
	const bound = 16 * maxUnderWay
	total := bound + 8<<10
	for range total {
		tp.Tracer("t").Start(ctx, "never ends")
	}
	waiting := p.hub.foreign.waiting()
	if unjoined := p.Stats().Unjoined; waiting > bound || waiting < bound*9/10 || int(unjoined)+waiting != total {
		t.Errorf("%d wait, %d made room, of %d; the bound is %d", waiting, unjoined, total, bound)
	}
	for range 100 {
		_, span := tp.Tracer("t").Start(ctx, "ends")
		span.End()
	}
	if err := tp.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n, s := len(tl.EntriesByName("ends")), p.Stats(); n != 100 || s.Spans != 100 || s.Lost() != 0 {
		t.Errorf("%d of 100 joined, %+v", n, s)
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}
