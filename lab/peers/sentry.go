package main

import (
	"context"
	"errors"
	"time"

	"github.com/getsentry/sentry-go"
	sentryhttp "github.com/getsentry/sentry-go/http"

	"github.com/perfline/perfline/lab/internal/orders"
	"github.com/perfline/perfline/lab/internal/service"
)

// waiting is how many transactions wait at most: with the default of 1000 most are dropped under
// load, because each is sent alone.
const waiting = 1 << 17

func sentryTracing(address string) (service.Service, error) {
	transport := sentry.NewHTTPTransport()
	transport.BufferSize = waiting
	err := sentry.Init(sentry.ClientOptions{
		Dsn: "http://key@" + address + "/1", Transport: transport, EnableTracing: true,
		TracesSampleRate: 1, ServerName: "benchmark",
	})
	if err != nil {
		return service.Service{}, err
	}
	flush := func(context.Context) error {
		if !sentry.Flush(time.Minute) {
			return errors.New("the server did not take all transactions in a minute")
		}
		return nil
	}
	return service.Service{Handler: sentryhttp.New(sentryhttp.Options{}).Handle(
		serving(workSentry)), Flush: flush, Shutdown: flush}, nil
}

func workSentry(ctx context.Context, o *orders.Order) {
	crumb(ctx, "cart.read")
	query := sentry.StartSpan(ctx, "stock.query")
	query.SetData("stock.site", "north")
	query.SetData("stock.parts", 3)
	o.Reserve()
	query.Finish()
	crumb(ctx, "stock.reserved")
	o.Price()
	charge := sentry.StartSpan(ctx, "payment.charge")
	charge.SetData("payment.method", "card")
	charge.SetData("payment.amount", 31.7)
	o.Charge()
	charge.Finish()
	crumb(ctx, "order.placed")
}

// crumb leaves what in Sentry comes closest to an event of a span.
func crumb(ctx context.Context, name string) {
	sentry.GetHubFromContext(ctx).AddBreadcrumb(&sentry.Breadcrumb{Message: name}, nil)
}
