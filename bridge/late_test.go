package bridge

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

type bigKey struct{}

// A mark after the end of a span that marks.Start began is late as any other, and
// keeps nothing of the request in memory.
func TestLateMarkOnAStartedSpan(t *testing.T) {
	p, tp, base := setUp(&capture{})
	freed := make(chan struct{})
	func() {
		big := new([1 << 16]byte)
		runtime.AddCleanup(big, func(struct{}) { close(freed) }, struct{}{})
		ctx, span := tp.Tracer("t").Start(context.WithValue(base, bigKey{}, big), "parent")
		inside, timing := marks.Start(ctx, "started")
		timing.End()
		span.End()
		if err := p.ForceFlush(context.Background()); err != nil {
			t.Fatal(err)
		}
		marks.Mark(inside, "late")
	}()
	if err := p.ForceFlush(context.Background()); err != nil {
		t.Fatal(err)
	}
	w := &p.hub.worker // at rest after ForceFlush
	w.sweep(time.Now().Add(sweepInterval))
	w.sweep(time.Now().Add(2 * sweepInterval))
	if got := p.Stats().Late; got != 1 || len(w.pending) != 0 {
		t.Errorf("%d late, %d spans remembered, want 1 and none", got, len(w.pending))
	}
	for i := 0; ; i++ {
		runtime.GC()
		select {
		case <-freed:
			if err := tp.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			return
		default:
		}
		if i == 100 {
			t.Fatal("the request's context is still in memory")
		}
		observer.FromContext(base).Flush()
	}
}
