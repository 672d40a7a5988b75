package bridgegrpc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestEntries(t *testing.T) {
	r := newRig(t).start(t)
	before := time.Now()
	if _, err := r.buy(r.ctx, "tea"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		typ    observer.Type
		kind   trace.SpanKind
		keys   string
		parent *observer.Timeline
	}{
		{observer.Resource, trace.SpanKindClient, "initiatorType nextHopProtocol responseStatus serverAddress requestStart responseStart responseEnd requestBodySize encodedBodySize decodedBodySize", r.tl},
		{observer.Navigation, trace.SpanKindServer, "initiatorType nextHopProtocol responseStatus requestStart responseStart responseEnd requestBodySize encodedBodySize decodedBodySize", r.tl},
	} {
		t.Run(string(c.typ), func(t *testing.T) {
			e, span := r.entry(t, c.typ), r.span(t, c.kind)
			if e.Name() != span.Name() || (*record.Timeline)(e.Timeline()).Parent() != (*record.Timeline)(c.parent) {
				t.Errorf("entry %v on timeline %p", e, e.Timeline())
			}
			if got := keys(e); got != c.keys {
				t.Errorf("attributes %s, want %s", got, c.keys)
			}
			for key, want := range map[string]slog.Value{
				"initiatorType": slog.StringValue("grpc"), "nextHopProtocol": slog.StringValue("h2"), "responseStatus": slog.StringValue("OK"),
				"requestBodySize": slog.Int64Value(5), "encodedBodySize": slog.Int64Value(5), "decodedBodySize": slog.Int64Value(5),
			} {
				if got, _ := attr(e, key); !got.Equal(want) {
					t.Errorf("%s is %v, want %v", key, got, want)
				}
			}
			request, response, end := moment(t, e, "requestStart"), moment(t, e, "responseStart"), moment(t, e, "responseEnd")
			if request < 0 || response <= request || end < response || end != e.Duration() {
				t.Errorf("request at %v, response at %v, end at %v of %v", request, response, end, e.Duration())
			}
			if got, want := (*record.Entry)(&e).Span(), span.SpanContext(); got.Trace != want.TraceID() || got.Self != record.ID(want.SpanID()) {
				t.Errorf("the entry is of span %x, want the call's, %v", got.Self, want.SpanID())
			}
			// The entry lies where its span does.
			if e.Time().Before(before) {
				t.Errorf("the entry is from %v, the call from after %v", e.Time(), before)
			}
			if from, to := e.Time().Sub(span.StartTime()), span.EndTime().Sub(e.Time().Add(e.Duration())); from > drift() || to < -drift() {
				t.Errorf("the entry starts %v after its span, which ends %v after the entry", from, to)
			}
		})
	}
	if got, _ := attr(r.entry(t, observer.Resource), "serverAddress"); got.String() != r.addr {
		t.Errorf("serverAddress is %v, want %s", got, r.addr)
	}
	nav := r.entry(t, observer.Navigation)
	if at := moment(t, nav, "requestStart"); at != 0 {
		t.Errorf("the request arrived at %v, want at the start", at)
	}
	if start := r.span(t, trace.SpanKindServer).StartTime(); !nav.Timeline().Origin().Equal(start) || !nav.Time().Equal(start) {
		t.Errorf("the call's timeline begins at %v, its entry at %v, its span at %v", nav.Timeline().Origin(), nav.Time(), start)
	}
}

// moment is an attribute that is a time since the entry's start.
func moment(t *testing.T, e observer.Entry, key string) time.Duration {
	t.Helper()
	v, ok := attr(e, key)
	if !ok || v.Kind() != slog.KindDuration {
		t.Fatalf("%v: %s is %v of kind %v, want a duration", e, key, v, v.Kind())
	}
	return v.Duration()
}

// A stream's sizes are sums, and tell compressed bytes from the others.
func TestSizes(t *testing.T) {
	r := newRig(t)
	r.shop.list = func(in *text, stream grpc.ServerStream) error {
		for range 3 {
			if err := stream.SendMsg(in); err != nil {
				return err
			}
		}
		return nil
	}
	r.start(t)
	s, err := r.conn.NewStream(r.ctx, &grpc.StreamDesc{ServerStreams: true}, "/"+list, grpc.UseCompressor(gzip.Name))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SendMsg(wrapperspb.String(strings.Repeat("x", 1000))); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for {
		if err := s.RecvMsg(&text{}); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	const message = 1003 // with its tag and length
	for _, typ := range []observer.Type{observer.Resource, observer.Navigation} {
		e := r.entry(t, typ)
		request, _ := attr(e, "requestBodySize")
		encoded, _ := attr(e, "encodedBodySize")
		decoded, _ := attr(e, "decodedBodySize")
		if q := request.Int64(); q == 0 || q >= message/2 || encoded.Int64() != 3*q || decoded.Int64() != 3*message {
			t.Errorf("%s: request %v, encoded %v, decoded %v bytes; want q, 3q and %d", typ, request, encoded, decoded, 3*message)
		}
	}
}

// A measure can start from the moments of a call, and the answer starts with
// whatever is sent first.
func TestTimings(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(grpc.ServerStream) error
	}{
		{"a header", func(s grpc.ServerStream) error { return s.SendHeader(metadata.Pairs("k", "v")) }},
		{"a message", func(s grpc.ServerStream) error { return s.SendMsg(wrapperspb.String("tea")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			var before, after time.Duration
			var tl *observer.Timeline
			r.shop.list = func(_ *text, s grpc.ServerStream) error {
				tl = observer.FromContext(s.Context())
				from := func(name string) error {
					_, err := marks.Measure(s.Context(), "since "+name, marks.MeasureOptions{Start: marks.Named(name)})
					return err
				}
				if err := from(record.RequestStart); err != nil {
					t.Error(err)
				}
				if err := from(record.ResponseStart); !errors.Is(err, marks.ErrNoTiming) {
					t.Errorf("before anything is sent: %v, want ErrNoTiming", err)
				}
				before = tl.Now()
				if err := c.send(s); err != nil {
					t.Error(err)
				}
				after = tl.Now()
				return s.SendMsg(wrapperspb.String("more"))
			}
			r.start(t)
			s := r.stream(t, r.ctx, list)
			if err := s.SendMsg(wrapperspb.String("tea")); err != nil {
				t.Fatal(err)
			}
			if err := s.CloseSend(); err != nil {
				t.Fatal(err)
			}
			for s.RecvMsg(&text{}) == nil {
			}
			e := r.entry(t, observer.Navigation)
			at, ok := (*record.Timeline)(tl).Timing(record.ResponseStart)
			if !ok || at < before || at > after || at != moment(t, e, "responseStart") {
				t.Errorf("responseStart is %v (%v), in the entry %v, want between %v and %v", at, ok, moment(t, e, "responseStart"), before, after)
			}
			(*record.Timeline)(tl).Record(record.Mark, "after the call", 0, 0, nil) // by a goroutine that outlives it
			if n := len(r.entriesOf(observer.Mark)); n != 1 || len(tl.EntriesByType(observer.Mark)) != 0 {
				t.Errorf("%d marks after the call, %d of them on its timeline, which is closed", n, len(tl.EntriesByType(observer.Mark)))
			}
			end, ok := (*record.Timeline)(tl).Timing(record.ResponseEnd)
			if !ok || end < after || end != e.Duration() {
				t.Errorf("responseEnd is %v (%v) of %v, want after %v", end, ok, e.Duration(), after)
			}
		})
	}
}

// A call that is not sampled leaves no entries if nothing observes them.
func TestEntriesNobodyWants(t *testing.T) {
	r := newRig(t, unsampled)
	r.observer.Disconnect()
	r.start(t)
	if _, err := r.buy(r.ctx, "tea"); err != nil {
		t.Fatal(err)
	}
	r.stop()
	for typ, s := range r.tl.Stats() {
		if s.Recorded != 0 {
			t.Errorf("%d entries of type %s were recorded", s.Recorded, typ)
		}
	}
	if n := len(r.spansOf(t, trace.SpanKindServer)); n != 0 {
		t.Errorf("%d spans", n)
	}
	if got := outcomes(r.points(t, "rpc.server.call.duration")); !strings.Contains(got, "× 1") {
		t.Errorf("metrics count calls that are not sampled too; got %q", got)
	}
}

// A call without a timeline goes to the default one.
func TestDefaultTimeline(t *testing.T) {
	r := newRig(t)
	r.server.Timeline = nil
	var own *observer.Timeline
	r.shop.buy = func(ctx context.Context, in *text) (*text, error) {
		own = observer.FromContext(ctx)
		return in, nil
	}
	r.start(t)
	before := len(observer.ProcessTimeline().EntriesByType(observer.Resource))
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if _, err := r.buy(ctx, "tea"); err != nil {
		t.Fatal(err)
	}
	r.stop()
	want := r.tl // a span's own timeline is one of its provider's
	if bothproviders.Is(bothproviders.SDK) {
		want = observer.ProcessTimeline()
	}
	if own == nil || (*record.Timeline)(own).Parent() != (*record.Timeline)(want) {
		t.Errorf("the call's timeline is no child of %p", want)
	}
	if got := len(observer.ProcessTimeline().EntriesByType(observer.Resource)) - before; got != 1 {
		t.Errorf("%d resource entries on the default timeline, want 1", got)
	}
}
