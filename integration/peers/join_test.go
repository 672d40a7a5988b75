package peers_test

import (
	"context"
	"database/sql"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/XSAM/otelsql"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	_ "modernc.org/sqlite" // the driver

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A shop is a service whose database, gRPC and other calls are instrumented by
// others.
type shop struct {
	*rig
	db     *sql.DB
	health healthpb.HealthClient
	ours   *http.Client
	theirs *http.Client // with otelhttp
	bank   string       // the URL of a service
	stop   func()       // of the gRPC server, when its calls have ended
}

func newShop(t *testing.T, r *rig) *shop {
	t.Helper()
	s := &shop{rig: r}
	var err error
	s.db, err = otelsql.Open("sqlite", ":memory:", otelsql.WithTracerProvider(r.provider), otelsql.WithMeterProvider(r.meters),
		otelsql.WithAttributes(semconv.DBSystemNameSQLite))
	if err != nil {
		t.Fatal(err)
	}
	s.db.SetMaxOpenConns(1) // each connection would have a database of its own
	t.Cleanup(func() { s.db.Close() })
	if _, err := s.db.ExecContext(t.Context(), "CREATE TABLE orders (id INTEGER PRIMARY KEY, product TEXT)"); err != nil {
		t.Fatal(err)
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(r.provider),
		otelgrpc.WithMeterProvider(r.meters), otelgrpc.WithPropagators(propagation.TraceContext{}))))
	healthpb.RegisterHealthServer(server, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler(otelgrpc.WithTracerProvider(r.provider),
			otelgrpc.WithMeterProvider(r.meters), otelgrpc.WithPropagators(propagation.TraceContext{}))))
	if err != nil {
		t.Fatal(err)
	}
	s.health = healthpb.NewHealthClient(conn)
	s.stop = func() {
		conn.Close()
		server.GracefulStop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}

	bank := httptest.NewServer(http.HandlerFunc(greet))
	t.Cleanup(bank.Close)
	s.bank = bank.URL + "/payments"
	s.ours = &http.Client{Transport: bridgehttp.Client{TracerProvider: r.provider, MeterProvider: r.meters,
		Propagators: propagation.TraceContext{}}.Transport(bank.Client().Transport)}
	s.theirs = &http.Client{Transport: otelhttp.NewTransport(bank.Client().Transport, otelhttp.WithTracerProvider(r.provider),
		otelhttp.WithMeterProvider(r.meters), otelhttp.WithPropagators(propagation.TraceContext{}))}
	return s
}

// checkout does one of each: two measures and a call of ours, and calls and spans
// of others, some under a measure.
func (s *shop) checkout(ctx context.Context) error {
	marks.Mark(ctx, "accepted")
	inner, order := marks.Start(ctx, "order")
	if err := s.order(inner); err != nil {
		return err
	}
	order.End()
	if _, err := s.health.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		return err
	}
	tracer := s.provider.Tracer("somebody else's")
	_, span := tracer.Start(ctx, "somebody.computes")
	span.End()
	_, span = tracer.Start(ctx, "somebody.sends", trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attribute.String("messaging.system", "kafka")))
	span.End()
	for _, client := range []*http.Client{s.ours, s.theirs} {
		if err := get(ctx, client, s.bank); err != nil {
			return err
		}
	}
	marks.Time(ctx, "encode").End()
	return nil
}

func (s *shop) order(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders (product) VALUES (?)", "socks"); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	rows, err := s.db.QueryContext(ctx, "SELECT product FROM orders")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var product string
		if err := rows.Scan(&product); err != nil {
			return err
		}
	}
	return rows.Err()
}

// serve has one request checked out. It returns the entries that the request's
// timeline had within the handler, and the header of the response.
func (s *shop) serve(t *testing.T, header http.Header) ([]observer.Entry, http.Header) {
	t.Helper()
	var inside []observer.Entry
	mux := http.NewServeMux()
	mux.HandleFunc("/checkout", func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkout(r.Context()); err != nil {
			t.Error(err)
		}
		inside = observer.FromContext(r.Context()).Entries()
		greet(w, r)
	})
	server := bridgehttp.Server{TracerProvider: s.provider, MeterProvider: s.meters, Propagators: propagation.TraceContext{}, Timeline: s.tl,
		ServerTiming: bridgehttp.ServerTiming{Names: []string{"sql.*", "grpc.*"}, MaxBytes: 4096}}
	got := request(t, server.Middleware(mux), "/checkout", header)
	s.stop()
	return inside, got
}

// ofTrace returns the spans of the request's trace that arrived. All other spans belong
// to the set-up.
func (s *shop) ofTrace(t *testing.T) (spans []sdktrace.ReadOnlySpan) {
	t.Helper()
	for _, span := range s.ended(t) {
		inTrace := span.SpanContext().TraceID().String() == strings.Split(traceparent, "-")[1]
		if inTrace {
			spans = append(spans, span)
		} else if scope := span.InstrumentationScope().Name; scope != "github.com/XSAM/otelsql" {
			t.Errorf("%q of %s is in another trace", span.Name(), scope)
		}
	}
	return spans
}

// of are the entries that came from a span.
func of(entries []observer.Entry, span sdktrace.ReadOnlySpan) (found []observer.Entry) {
	for _, e := range entries {
		if attr(e, "span_id") == span.SpanContext().SpanID().String() {
			found = append(found, e)
		}
	}
	return found
}

// joins is what a span of other instrumentation becomes on the timeline.
func joins(s sdktrace.ReadOnlySpan) (typ observer.Type, initiator string) {
	switch scope := s.InstrumentationScope().Name; {
	case s.SpanKind() == trace.SpanKindServer, scope == "github.com/perfline/perfline":
		return "", ""
	case scope == "github.com/XSAM/otelsql":
		return observer.Resource, "db"
	case scope == otelgrpc.ScopeName:
		return observer.Resource, "grpc"
	case scope == otelhttp.ScopeName:
		return observer.Resource, "fetch"
	case s.SpanKind() == trace.SpanKindProducer:
		return observer.Resource, "messaging"
	}
	return observer.Measure, ""
}

func TestSpansOfOthersJoinTheirRequest(t *testing.T) {
	recent := requests.NewRecent(requests.Config{})
	s := newShop(t, newRig(t, true, recent)) // two processors on one timeline: once all the same
	observed := s.watch(t, observer.Mark, observer.Measure, observer.Resource)
	inside, header := s.serve(t, sampled(true))
	spans, outside := s.ofTrace(t), observed()

	byName := map[string]int{}
	ids := map[trace.SpanID]bool{}
	joined := 0
	for _, span := range spans {
		byName[span.Name()]++
		ids[span.SpanContext().SpanID()] = true
		typ, initiator := joins(span)
		if typ == "" {
			if n := len(of(inside, span)); n > 0 {
				t.Errorf("%d entries of %q, which is ours or a server's", n, span.Name())
			}
			continue
		}
		joined++
		for where, entries := range map[string][]observer.Entry{"its request's timeline": inside, "the observer's list": outside} {
			found := of(entries, span)
			if len(found) != 1 {
				t.Errorf("%q has %d entries on %s, want 1", span.Name(), len(found), where)
				continue
			}
			wantEntry(t, found[0], span, typ, initiator)
		}
	}
	if len(ids) != len(spans) {
		t.Errorf("%d spans with %d ids: some arrived twice", len(spans), len(ids))
	}
	// The rest are ours: the request, its measures, the call and, of the gRPC
	// server, the span of the other side.
	for name, want := range map[string]int{"GET /checkout": 1, "order": 1, "encode": 1, "GET": 1, "HTTP GET": 1, "grpc.health.v1.Health/Check": 2,
		"sql.conn.begin_tx": 1, "sql.conn.exec": 1, "sql.tx.commit": 1, "sql.conn.query": 1, "sql.rows": 1, "somebody.computes": 1, "somebody.sends": 1} {
		if byName[name] != want {
			t.Errorf("%d spans %q, want %d", byName[name], name, want)
		}
	}
	if want := joined + 5; len(spans) != want {
		t.Errorf("spans %q, want %d", names(spans), want)
	}
	// A mark, two measures and a resource are ours.
	for where, entries := range map[string][]observer.Entry{"its request's timeline": inside, "the observer's list": outside} {
		if want := joined + 4; len(entries) != want {
			t.Errorf("%d entries on %s, want %d: %v", len(entries), where, want, entries)
		}
		for name, typ := range map[string]observer.Type{"accepted": observer.Mark, "order": observer.Measure, "encode": observer.Measure, s.bank: observer.Resource} {
			if n := count(entries, name, typ); n != 1 {
				t.Errorf("%d entries %q of type %s on %s, want 1", n, name, typ, where)
			}
		}
	}
	wantTold(t, header, inside)
	wantWaterfall(t, recent, len(spans))
}

func count(entries []observer.Entry, name string, typ observer.Type) (n int) {
	for _, e := range entries {
		if e.Name() == name && e.Type() == typ {
			n++
		}
	}
	return n
}

func wantEntry(t *testing.T, e observer.Entry, span sdktrace.ReadOnlySpan, typ observer.Type, initiator string) {
	t.Helper()
	if e.Name() != span.Name() || e.Type() != typ || attr(e, observer.InitiatorKey) != initiator {
		t.Errorf("%q became %v, initiatorType %q, want %s, %q", span.Name(), e, attr(e, observer.InitiatorKey), typ, initiator)
	}
	if !e.Time().Equal(span.StartTime()) || e.Duration() != span.EndTime().Sub(span.StartTime()) {
		t.Errorf("%q is from %v for %v, its span from %v for %v", e.Name(), e.Time(), e.Duration(), span.StartTime(), span.EndTime().Sub(span.StartTime()))
	}
}

// wantTold compares the Server-Timing header with the entries it may tell.
func wantTold(t *testing.T, header http.Header, inside []observer.Entry) {
	t.Helper()
	var want []string
	for _, e := range inside {
		if strings.HasPrefix(e.Name(), "sql.") || strings.HasPrefix(e.Name(), "grpc.") {
			want = append(want, strings.ReplaceAll(e.Name(), "/", "_")) // a metric's name is a token
		}
	}
	var got []string
	for metric := range strings.SplitSeq(header.Get("Server-Timing"), ", ") {
		name, params, _ := strings.Cut(metric, ";")
		if !strings.Contains(params, "dur=") {
			t.Errorf("metric %q has no duration", metric)
		}
		got = append(got, name)
	}
	if len(want) < 6 || !slices.Equal(got, want) {
		t.Errorf("Server-Timing tells %q, want %q", got, want)
	}
}

// wantWaterfall wants all spans and marks of the request in one tree.
func wantWaterfall(t *testing.T, recent *requests.Recent, spans int) {
	t.Helper()
	all := recent.Requests()
	i := slices.IndexFunc(all, func(s requests.Snapshot) bool { return s.Name == "GET /checkout" })
	if i < 0 {
		t.Fatalf("the request is not among the %d recent ones", len(all))
	}
	var text strings.Builder
	if err := requests.WriteWaterfall(&text, all[i].Request(), nil); err != nil {
		t.Fatal(err)
	}
	// Each in its depth, below its parent.
	want := []string{"GET /checkout", "◆ accepted", "  order", "    sql.conn.begin_tx", "    sql.conn.exec", "    sql.tx.commit", "    sql.conn.query", "    sql.rows",
		"  grpc.health.v1.Health/Check", "    grpc.health.v1.Health/Check", "  somebody.computes", "  somebody.sends", "  GET", "  HTTP GET", "  encode"}
	lines := strings.Split(text.String(), "\n")[1:]
	for _, w := range want {
		n := slices.IndexFunc(lines, func(l string) bool { return l == w || strings.HasPrefix(l, w+" ") })
		if n < 0 {
			t.Fatalf("the waterfall lacks %q, or has it elsewhere:\n%s", w, &text)
		}
		lines = lines[n+1:]
	}
	if got := len(all[i].Request().Spans); got != spans {
		t.Errorf("the waterfall has %d spans, want %d:\n%s", got, spans, &text)
	}
	t.Logf("\n%s", &text)
}

// A request that is not sampled has no spans, and none of them joins it.
func TestUnsampledSpansOfOthersDoNotJoin(t *testing.T) {
	s := newShop(t, newRig(t, true))
	observed := s.watch(t, observer.Mark, observer.Measure, observer.Resource)
	inside, header := s.serve(t, sampled(false))
	if spans := s.ofTrace(t); len(spans) > 0 {
		t.Errorf("spans %q arrived", names(spans))
	}
	for where, entries := range map[string][]observer.Entry{"its request's timeline": inside, "the observer's list": observed()} {
		if len(entries) != 4 { // an observer wants ours
			t.Errorf("%s: %v, want our mark, measures and call", where, entries)
		}
		for _, e := range entries {
			if attr(e, "span_id") != "" {
				t.Errorf("%s: %v came from a span", where, e)
			}
		}
	}
	if got := header.Values("Server-Timing"); len(got) > 0 {
		t.Errorf("Server-Timing is %q, want none", got)
	}
}
