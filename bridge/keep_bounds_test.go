package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
)

// A journal that is undecided keeps its oldest entries, and counts the others. A flush leaves it alone.
func TestKeepBoundOfARequest(t *testing.T) {
	r := newKeepRig(t, bridge.KeepPolicy{Share: 1}, nil)
	const n = 10_000
	r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) {
		for i := range n {
			marks.Time(ctx, fmt.Sprint("measure ", i), slog.Int("i", i)).End()
			if i == n/2 {
				if err := r.provider.ForceFlush(ctx); err != nil {
					t.Error(err)
				}
			}
		}
		marks.Mark(ctx, "refused, too")
	})
	stay := len(r.recorded.spans) - 1
	names := strings.Fields(strings.ReplaceAll(r.recorded.names(), "measure ", ""))
	if stay < 1000 || stay >= n || !slices.Contains(names, "0") || !slices.Contains(names, fmt.Sprint(stay-1)) || slices.Contains(names, fmt.Sprint(stay)) {
		t.Errorf("kept %d of %d measures, want the oldest ones", stay, n)
	}
	s := r.provider.Stats()
	if s.Requests.Refused != uint64(n-stay)+1 || s.Lost() != 0 {
		t.Errorf("%+v, want %d refused and none lost", s, n-stay+1)
	}
	if got, want := strings.Join(r.recorded.reasons, ""), fmt.Sprint("share refused ", n-stay); got != want {
		t.Errorf("the root says %q, want %q", got, want)
	}
	for _, s := range r.recorded.spans {
		if s.Name == "GET /" && s.DroppedEvents != 1 {
			t.Errorf("the root dropped %d events, want 1", s.DroppedEvents)
		}
	}
}

// Requests that never end do not take the memory of others for ever. Those that are sampled do not miss a span.
func TestKeepBoundOfAllRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{Share: 1, PerSecond: -1}, sdktrace.ParentBased(sdktrace.NeverSample()))
		var open []trace.Span
		for i := range 20_000 {
			ctx, span := r.provider.Tracer(fmt.Sprint(i%10)).Start(r.ctx, "never ends", trace.WithSpanKind(trace.SpanKindServer))
			marks.Time(ctx, "measure").End()
			open = append(open, span)
		}
		if u := r.unitStats(); u.Waiting > 16<<10 || u.Refused == 0 {
			t.Errorf("%d requests wait and %d measures are refused", u.Waiting, u.Refused)
		}
		time.Sleep(6 * time.Second)
		if u := r.unitStats(); u.Waiting > 0 || u.WaitingBytes > 0 || u.Refused != 20_000 {
			t.Errorf("after two sweeps, %d requests wait with %d bytes, and %d measures are refused", u.Waiting, u.WaitingBytes, u.Refused)
		}
		r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) { marks.Time(ctx, "render").End() })
		if got, want := r.recorded.names(), "GET / render"; got != want {
			t.Errorf("recorded %q, want %q", got, want)
		}
		for _, span := range open {
			span.End()
		}
		if u := r.unitStats(); u.Waiting > 0 || u.WaitingBytes > 0 {
			t.Errorf("at the end, %d requests wait with %d bytes", u.Waiting, u.WaitingBytes)
		}
	})
}

// Instrumentation that never ends spans that are not recording does not take memory for ever, and no slots of others.
func TestKeepRootsThatNeverEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newKeepRig(t, bridge.KeepPolicy{Share: 1, PerSecond: -1}, nil)
		leaky := r.provider.Tracer("leaky")
		const n = 10_000
		for range n {
			ctx, _ := leaky.Start(r.ctx, "rpc", trace.WithSpanKind(trace.SpanKindServer))
			marks.Time(ctx, "measure").End()
		}
		s := r.provider.Stats().Requests
		if s.Untracked < n/2 || s.Untracked > n-1000 {
			t.Errorf("%d requests are untracked", s.Untracked)
		}
		if u := r.unitStats(); u.Waiting+int(s.Untracked) != n {
			t.Errorf("%d requests wait and %d are untracked, want %d together", u.Waiting, s.Untracked, n)
		}
		r.serve("GET /", 0, nil)
		time.Sleep(16 * time.Minute)
		if u := r.unitStats(); u.Waiting > 0 || u.WaitingBytes > 0 {
			t.Errorf("after 16 minutes, %d requests wait with %d bytes", u.Waiting, u.WaitingBytes)
		}
		if got, want := r.recorded.names(), "GET /"; got != want {
			t.Errorf("recorded %q, want %q", got, want)
		}
	})
}
