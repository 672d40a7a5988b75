package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"log/slog"
	"net/http"

	"github.com/XSAM/otelsql"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/lab/internal/orders"
	"github.com/perfline/perfline/marks"
)

// An instrumentation is what a service's code calls. All use OpenTelemetry's globals, so it is
// made when the set-up is open.
type instrumentation struct {
	handler   func(http.Handler) http.Handler
	transport func(http.RoundTripper) http.RoundTripper
	grpc      []grpc.ServerOption
	database  func(driver.Connector) *sql.DB
	// of other instrumentation; nil without telemetry
	tracer trace.Tracer
	// three marks, two measures of two attributes each, and an order's steps between them
	work func(context.Context, *orders.Order)
}

func bare() instrumentation {
	return instrumentation{
		handler:   func(h http.Handler) http.Handler { return h },
		transport: func(t http.RoundTripper) http.RoundTripper { return t },
		database:  sql.OpenDB,
		work:      workAlone,
	}
}

// contrib is OpenTelemetry's own instrumentation and API.
func contrib() instrumentation {
	tracer := otel.Tracer("shop")
	return instrumentation{
		handler:   func(h http.Handler) http.Handler { return otelhttp.NewHandler(h, "") },
		transport: func(t http.RoundTripper) http.RoundTripper { return otelhttp.NewTransport(t) },
		grpc:      []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler())},
		database:  tracedDatabase,
		tracer:    tracer,
		work:      func(ctx context.Context, o *orders.Order) { workWithSpans(ctx, tracer, o) },
	}
}

// native is perfline's instrumentation and API.
func native() instrumentation {
	return instrumentation{
		handler:   middleware,
		transport: bridgehttp.Client{BodySizeMetrics: true}.Transport,
		grpc:      []grpc.ServerOption{grpc.StatsHandler(bridgegrpc.Server{}.Handler())},
		database:  tracedDatabase,
		work:      workWithMarks,
	}
}

// beside is perfline's middleware and API under OpenTelemetry's instrumentation, which makes
// the requests' spans.
func beside() instrumentation {
	i := contrib()
	theirs := i.handler
	i.handler = func(h http.Handler) http.Handler { return theirs(middleware(h)) }
	i.grpc = append(i.grpc, grpc.StatsHandler(bridgegrpc.Server{}.Handler()))
	i.work = workWithMarks
	return i
}

// middleware records the metrics that otelhttp does. Where there is no meter provider,
// neither records any.
func middleware(h http.Handler) http.Handler {
	return bridgehttp.Server{BodySizeMetrics: true}.Middleware(h)
}

func tracedDatabase(c driver.Connector) *sql.DB {
	return otelsql.OpenDB(c, otelsql.WithAttributes(semconv.DBSystemNameSQLite),
		otelsql.WithSpanOptions(
			otelsql.SpanOptions{OmitConnResetSession: true, OmitConnectorConnect: true}))
}

func workAlone(_ context.Context, o *orders.Order) {
	o.Reserve()
	o.Price()
	o.Charge()
}

func workWithMarks(ctx context.Context, o *orders.Order) {
	marks.Mark(ctx, "cart.read")
	query := marks.Time(ctx, "stock.query", slog.String("stock.site", "north"),
		slog.Int("stock.parts", 3))
	o.Reserve()
	query.End()
	marks.Mark(ctx, "stock.reserved")
	o.Price()
	charge := marks.Time(ctx, "payment.charge", slog.String("payment.method", "card"),
		slog.Float64("payment.amount", 31.7))
	o.Charge()
	charge.End()
	marks.Mark(ctx, "order.placed")
}

func workWithSpans(ctx context.Context, tracer trace.Tracer, o *orders.Order) {
	request := trace.SpanFromContext(ctx)
	request.AddEvent("cart.read")
	_, query := tracer.Start(ctx, "stock.query",
		trace.WithAttributes(attribute.String("stock.site", "north"),
			attribute.Int("stock.parts", 3)))
	o.Reserve()
	query.End()
	request.AddEvent("stock.reserved")
	o.Price()
	_, charge := tracer.Start(ctx, "payment.charge",
		trace.WithAttributes(attribute.String("payment.method", "card"),
			attribute.Float64("payment.amount", 31.7)))
	o.Charge()
	charge.End()
	request.AddEvent("order.placed")
}
