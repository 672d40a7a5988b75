package bridgegrpc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestSpans(t *testing.T) {
	r := newRig(t)
	r.shop.buy = func(ctx context.Context, in *text) (*text, error) {
		marks.Mark(ctx, "in the handler")
		marks.Time(ctx, "leaf").End()
		return in, nil
	}
	r.start(t)
	ctx, caller := r.provider.Tracer("test").Start(r.ctx, "caller")
	if got, err := r.buy(ctx, "tea"); err != nil || got != "tea" {
		t.Fatalf("got %q, %v", got, err)
	}
	caller.End()
	client, server := r.span(t, trace.SpanKindClient), r.span(t, trace.SpanKindServer)
	for _, c := range []struct {
		name   string
		span   sdktrace.ReadOnlySpan
		parent trace.SpanContext
		remote bool
		tags   []string // that are there
	}{
		{"client", client, caller.SpanContext(), false, []string{"server.address", "server.port", "network.peer.address", "network.peer.port"}},
		{"server", server, client.SpanContext(), true, []string{"server.address", "server.port", "network.peer.address", "network.peer.port", "client.address", "client.port"}},
	} {
		s := c.span
		if s.Name() != buy || s.Status().Code != codes.Unset || s.InstrumentationScope() != scope.Scope() {
			t.Errorf("%s: span %q, status %v, scope %q", c.name, s.Name(), s.Status(), s.InstrumentationScope().Name)
		}
		if p := s.Parent(); p.SpanID() != c.parent.SpanID() || p.TraceID() != c.parent.TraceID() || p.IsRemote() != c.remote {
			t.Errorf("%s: parent %v, want %v", c.name, p, c.parent)
		}
		got := tags(s)
		for _, key := range c.tags {
			if got[key] == "" || got[key] == "0" {
				t.Errorf("%s: %s is missing", c.name, key)
			}
			delete(got, key)
		}
		want := map[string]string{"rpc.system.name": "grpc", "rpc.method": buy, "rpc.response.status_code": "OK"}
		if !maps.Equal(got, want) {
			t.Errorf("%s: attributes %v, want %v", c.name, got, want)
		}
	}
	if to, from := tags(client)["server.port"], tags(server)["server.port"]; to != from {
		t.Errorf("the client called port %s, the server has %s", to, from)
	}
	if got := tags(server)["client.address"]; got != "127.0.0.1" {
		t.Errorf("client.address is %s", got)
	}
	if got := events(server); got != "[in the handler]" {
		t.Errorf("events of the server span: %s", got)
	}
	internal := r.spansOf(t, trace.SpanKindInternal)
	leaf := slices.IndexFunc(internal, func(s sdktrace.ReadOnlySpan) bool { return s.Name() == "leaf" })
	if leaf < 0 || internal[leaf].Parent().SpanID() != server.SpanContext().SpanID() {
		t.Errorf("internal spans %v, want a leaf under the server span", internal)
	}
}

func TestStatus(t *testing.T) {
	type side struct {
		code codes.Code
		text string
	}
	failed := func(code grpccodes.Code) error { return status.Error(code, "because") }
	unset, bad := side{codes.Unset, ""}, side{codes.Error, "because"}
	cut := strings.Repeat("x", 2048-len("…")) + "…"
	for _, c := range []struct {
		name           string
		err            error
		code           string
		client, server side
	}{
		{"OK", nil, "OK", unset, unset},
		{"CANCELLED", failed(grpccodes.Canceled), "CANCELLED", bad, unset},
		{"UNKNOWN", failed(grpccodes.Unknown), "UNKNOWN", bad, bad},
		{"INVALID_ARGUMENT", failed(grpccodes.InvalidArgument), "INVALID_ARGUMENT", bad, unset},
		{"DEADLINE_EXCEEDED", failed(grpccodes.DeadlineExceeded), "DEADLINE_EXCEEDED", bad, bad},
		{"NOT_FOUND", failed(grpccodes.NotFound), "NOT_FOUND", bad, unset},
		{"ALREADY_EXISTS", failed(grpccodes.AlreadyExists), "ALREADY_EXISTS", bad, unset},
		{"PERMISSION_DENIED", failed(grpccodes.PermissionDenied), "PERMISSION_DENIED", bad, unset},
		{"RESOURCE_EXHAUSTED", failed(grpccodes.ResourceExhausted), "RESOURCE_EXHAUSTED", bad, unset},
		{"FAILED_PRECONDITION", failed(grpccodes.FailedPrecondition), "FAILED_PRECONDITION", bad, unset},
		{"ABORTED", failed(grpccodes.Aborted), "ABORTED", bad, unset},
		{"OUT_OF_RANGE", failed(grpccodes.OutOfRange), "OUT_OF_RANGE", bad, unset},
		{"UNIMPLEMENTED", failed(grpccodes.Unimplemented), "UNIMPLEMENTED", bad, bad},
		{"INTERNAL", failed(grpccodes.Internal), "INTERNAL", bad, bad},
		{"UNAVAILABLE", failed(grpccodes.Unavailable), "UNAVAILABLE", bad, bad},
		{"DATA_LOSS", failed(grpccodes.DataLoss), "DATA_LOSS", bad, bad},
		{"UNAUTHENTICATED", failed(grpccodes.Unauthenticated), "UNAUTHENTICATED", bad, unset},
		{"the first code that does not exist", failed(17), "CODE(17)", bad, unset},
		{"the largest code on the wire", failed(1<<31 - 1), "CODE(2147483647)", bad, unset},
		{"an error without a status", errors.New("because"), "UNKNOWN", bad, bad},
		{"a context's error", context.DeadlineExceeded, "DEADLINE_EXCEEDED", side{codes.Error, "context deadline exceeded"}, side{codes.Error, "context deadline exceeded"}},
		{"a long message", status.Error(grpccodes.Internal, strings.Repeat("x", 4096)), "INTERNAL", side{codes.Error, cut}, side{codes.Error, cut}},
		{"a message that is not UTF-8", status.Error(grpccodes.Internal, "be\xffcause"), "INTERNAL", side{codes.Error, "be\uFFFDcause"}, side{codes.Error, "be\uFFFDcause"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.shop.buy = func(_ context.Context, in *text) (*text, error) { return in, c.err }
			r.start(t)
			if _, err := r.buy(r.ctx, "tea"); (err != nil) != (c.err != nil) {
				t.Fatal(err)
			}
			for _, of := range []struct {
				name   string
				kind   trace.SpanKind
				want   side
				typ    observer.Type
				metric string
			}{
				{"client", trace.SpanKindClient, c.client, observer.Resource, "rpc.client.call.duration"},
				{"server", trace.SpanKindServer, c.server, observer.Navigation, "rpc.server.call.duration"},
			} {
				errorType := ""
				if of.want.code == codes.Error {
					errorType = c.code
				}
				s := r.span(t, of.kind)
				if got := s.Status(); got.Code != of.want.code || got.Description != of.want.text {
					t.Errorf("%s: span status %v %q, want %v %q", of.name, got.Code, got.Description, of.want.code, of.want.text)
				}
				if got := tags(s); got["rpc.response.status_code"] != c.code || got["error.type"] != errorType {
					t.Errorf("%s: attributes %v, want code %s, error %q", of.name, got, c.code, errorType)
				}
				if got, _ := attr(r.entry(t, of.typ), "responseStatus"); got.String() != c.code {
					t.Errorf("%s: responseStatus is %q, want %s", of.name, got, c.code)
				}
				want := fmt.Sprintf("[rpc.method=%s rpc.response.status_code=%s rpc.system.name=grpc]", buy, c.code)
				if errorType != "" {
					want = "[error.type=" + errorType + " " + want[1:]
				}
				if got := outcomes(r.points(t, of.metric)); got != want+" × 1\n" {
					t.Errorf("%s: %s is\n%swant\n%s × 1", of.name, of.metric, got, want)
				}
			}
		})
	}
}

// A service that passes on the metadata it was called with replaces the caller's trace context, and removes the fields that
// its own trace context does not have. The metadata in the service's hands does not change.
func TestCallersMetadata(t *testing.T) {
	const old = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := newRig(t)
	var got metadata.MD
	r.shop.buy = func(ctx context.Context, in *text) (*text, error) {
		got, _ = metadata.FromIncomingContext(ctx)
		return in, nil
	}
	r.start(t)
	md := metadata.Pairs("traceparent", old, "tracestate", "vendor=1", "tracestate", "vendor=2", "customer", "7")
	before := md.Copy()
	if _, err := r.buy(metadata.NewOutgoingContext(r.ctx, md), "tea"); err != nil {
		t.Fatal(err)
	}
	client := r.span(t, trace.SpanKindClient).SpanContext()
	want := fmt.Sprintf("[00-%s-%s-%s]", client.TraceID(), client.SpanID(), client.TraceFlags())
	if sent := fmt.Sprint(got["traceparent"]); sent != want || len(got["tracestate"]) > 0 || fmt.Sprint(got["customer"]) != "[7]" {
		t.Errorf("sent traceparent %s and %v, want %s", sent, got, want)
	}
	if fmt.Sprint(md) != fmt.Sprint(before) {
		t.Errorf("the caller's metadata is %v, it was %v", md, before)
	}
}

func TestFilter(t *testing.T) {
	refuse := func(info *stats.RPCTagInfo) bool { return info.FullMethodName != "/"+buy }
	for _, c := range []struct {
		name           string
		client, server bool // filtered
	}{{"client", true, false}, {"server", false, true}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if c.client {
				r.client.Filter = refuse
			}
			if c.server {
				r.server.Filter = refuse
			}
			var tl *observer.Timeline
			var md metadata.MD
			r.shop.buy = func(ctx context.Context, in *text) (*text, error) {
				tl = observer.FromContext(ctx)
				md, _ = metadata.FromIncomingContext(ctx)
				return in, nil
			}
			r.start(t)
			if _, err := r.buy(r.ctx, "tea"); err != nil {
				t.Fatal(err)
			}
			one := map[bool]int{false: 1, true: 0}
			if n := len(r.spansOf(t, trace.SpanKindClient)); n != one[c.client] {
				t.Errorf("%d client spans", n)
			}
			if n := len(r.spansOf(t, trace.SpanKindServer)); n != one[c.server] {
				t.Errorf("%d server spans", n)
			}
			if n := len(r.entriesOf(observer.Resource)); n != one[c.client] {
				t.Errorf("%d resource entries", n)
			}
			if n := len(r.entriesOf(observer.Navigation)); n != one[c.server] {
				t.Errorf("%d navigation entries", n)
			}
			if n := len(r.points(t, "rpc.client.call.duration")); n != one[c.client] {
				t.Errorf("%d points of the client's metric", n)
			}
			if n := len(r.points(t, "rpc.server.call.duration")); n != one[c.server] {
				t.Errorf("%d points of the server's metric", n)
			}
			if own := tl != observer.ProcessTimeline(); own == c.server {
				t.Errorf("the handler has a timeline of its own: %v", own)
			}
			if n := len(md["traceparent"]); n != one[c.client] {
				t.Errorf("%d traceparents", n)
			}
		})
	}
}

// callFirst are credentials that make a call of their own for every call, as those
// do that fetch a token.
type callFirst struct{ call func(context.Context) error }

func (c callFirst) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	return nil, c.call(ctx)
}
func (callFirst) RequireTransportSecurity() bool { return false }

// A call that is filtered out while another one of the same handler is under way
// leaves that one alone.
func TestFilterInsideACall(t *testing.T) {
	r := newRig(t)
	r.client.Filter = func(info *stats.RPCTagInfo) bool { return info.FullMethodName == "/"+buy }
	r.start(t)
	inner := callFirst{func(ctx context.Context) error {
		err := r.conn.Invoke(ctx, "/shop.v1.Shop/Token", wrapperspb.String("a long request, to be seen in sizes"), &text{})
		if status.Code(err) != grpccodes.Unimplemented {
			return fmt.Errorf("the call for a token: %w", err)
		}
		return nil
	}}
	if _, err := r.buy(r.ctx, "tea", grpc.PerRPCCredentials(inner)); err != nil {
		t.Fatal(err)
	}
	if s := r.span(t, trace.SpanKindClient); s.Name() != buy || tags(s)["rpc.response.status_code"] != "OK" {
		t.Errorf("span %q, %v", s.Name(), tags(s))
	}
	e := r.entry(t, observer.Resource)
	if size, _ := attr(e, "requestBodySize"); size.Int64() != 5 {
		t.Errorf("%v has a request of %v bytes, want 5", e, size)
	}
}

func TestPublicEndpoint(t *testing.T) {
	for _, public := range []bool{false, true} {
		r := newRig(t)
		var asked trace.SpanContext
		r.server.PublicEndpoint = func(ctx context.Context, info *stats.RPCTagInfo) bool {
			asked = trace.SpanContextFromContext(ctx)
			return public && info.FullMethodName == "/"+buy
		}
		r.start(t)
		if _, err := r.buy(r.ctx, "tea"); err != nil {
			t.Fatal(err)
		}
		client, server := r.span(t, trace.SpanKindClient).SpanContext(), r.span(t, trace.SpanKindServer)
		if asked.SpanID() != client.SpanID() {
			t.Errorf("PublicEndpoint was asked with span %v in the context, want the caller's", asked)
		}
		if joined := server.Parent().SpanID() == client.SpanID(); joined == public {
			t.Errorf("public %v: the span joins the caller's trace: %v", public, joined)
		}
		if own := server.SpanContext().TraceID() != client.TraceID(); own != public {
			t.Errorf("public %v: a trace of its own: %v", public, own)
		}
		links := server.Links()
		if !public {
			if len(links) != 0 {
				t.Errorf("links %v", links)
			}
		} else if len(links) != 1 || links[0].SpanContext.SpanID() != client.SpanID() {
			t.Errorf("links %v, want one to the caller's", links)
		}
	}
}
