package bridgehttp

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/perfline/perfline/bridge/internal/serving"
)

// An exchange contains the attributes of a request's metrics. Requests with equal exchanges are of
// one kind, and share their attribute lists.
type exchange struct {
	method  string
	scheme  string
	version string // of the protocol; empty: unknown
	status  int    // 0: no status was sent or received
	failure string // error.type; empty: no error
	route   string // of a server's request
	server  string // address that a client called
	port    int    // port that a client called
}

func (x *exchange) attributes() []attribute.KeyValue {
	var list serving.AttributeList
	list.Text(semconv.HTTPRequestMethodKey, x.method)
	list.Text(semconv.URLSchemeKey, x.scheme)
	serving.Text(&list, semconv.NetworkProtocolVersionKey, x.version)
	serving.Text(&list, semconv.ServerAddressKey, x.server)
	serving.Int(&list, semconv.ServerPortKey, int64(x.port))
	return append(list.Attributes, x.outcome()...)
}

// outcome returns the attributes that are known only at the end.
func (x *exchange) outcome() []attribute.KeyValue {
	var list serving.AttributeList
	serving.Text(&list, semconv.HTTPRouteKey, x.route)
	serving.Int(&list, semconv.HTTPResponseStatusCodeKey, int64(x.status))
	serving.Text(&list, semconv.ErrorTypeKey, x.failure)
	return list.Attributes
}

// fail sets error.type to a status of from or more, unless error.type is already set.
func (x *exchange) fail(from int) {
	if x.failure == "" && x.status >= from {
		x.failure = strconv.Itoa(x.status)
	}
}

// An exchangeMetrics contains the shared data of one kind of exchange.
type exchangeMetrics struct {
	name    string // of a server's span with a route
	record  []metric.RecordOption
	outcome []attribute.KeyValue
	route   []attribute.KeyValue // http.route
}

func newExchangeMetrics(x exchange) (exchange, *exchangeMetrics) {
	for _, s := range []*string{&x.method, &x.scheme, &x.server, &x.route, &x.failure} {
		*s = strings.Clone(*s) // the original may retain a whole URL or request
	}
	set := attribute.NewSet(x.attributes()...)
	return x, &exchangeMetrics{
		name:    spanMethod(x.method) + " " + x.route,
		record:  []metric.RecordOption{metric.WithAttributeSet(set)},
		outcome: x.outcome(),
		route:   []attribute.KeyValue{semconv.HTTPRoute(x.route)},
	}
}

// A meter records the metrics of the conventions for HTTP.
type meter struct {
	duration            metric.Float64Histogram
	requests, responses metric.Int64Histogram // sizes of bodies; nil without BodySizeMetrics
}

func newServerMeter(m metric.Meter, sizes bool) meter {
	made := meter{duration: serving.Instrument(httpconv.NewServerRequestDuration(m)).Inst()}
	if sizes {
		made.requests = serving.Instrument(httpconv.NewServerRequestBodySize(m)).Inst()
		made.responses = serving.Instrument(httpconv.NewServerResponseBodySize(m)).Inst()
	}
	return made
}

func newClientMeter(m metric.Meter, sizes bool) meter {
	made := meter{duration: serving.Instrument(httpconv.NewClientRequestDuration(m)).Inst()}
	if sizes {
		made.requests = serving.Instrument(httpconv.NewClientRequestBodySize(m)).Inst()
	}
	return made
}
