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

// An exchange is what the metrics of a request tell apart. Requests of one kind share their
// attributes, which are made once.
type exchange struct {
	method  string
	scheme  string
	version string // of the protocol; empty: not known
	status  int    // 0: none was sent or received
	failure string // error.type; empty: none
	route   string // of a server
	server  string // whom a client called
	port    int
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

// outcome are the attributes that are known at the end only.
func (x *exchange) outcome() []attribute.KeyValue {
	var list serving.AttributeList
	serving.Text(&list, semconv.HTTPRouteKey, x.route)
	serving.Int(&list, semconv.HTTPResponseStatusCodeKey, int64(x.status))
	serving.Text(&list, semconv.ErrorTypeKey, x.failure)
	return list.Attributes
}

// fail is error.type of a status that is an error.
func (x *exchange) fail(from int) {
	if x.failure == "" && x.status >= from {
		x.failure = strconv.Itoa(x.status)
	}
}

// An exchangeMetrics is made once for all exchanges of a kind.
type exchangeMetrics struct {
	name    string // of a server's span, if the route is known
	record  []metric.RecordOption
	outcome []attribute.KeyValue
}

func newExchangeMetrics(x exchange) (exchange, *exchangeMetrics) {
	// Clones: these may be parts of a whole URL or request.
	x.method, x.scheme, x.server = strings.Clone(x.method), strings.Clone(x.scheme),
		strings.Clone(x.server)
	x.route, x.failure = strings.Clone(x.route), strings.Clone(x.failure)
	return x, &exchangeMetrics{
		name: spanMethod(x.method) + " " + x.route,
		record: []metric.RecordOption{metric.WithAttributeSet(
			attribute.NewSet(x.attributes()...))},
		outcome: x.outcome(),
	}
}

// A meter records the metrics of the conventions for HTTP.
type meter struct {
	duration            metric.Float64Histogram
	requests, responses metric.Int64Histogram // sizes of bodies; nil unless they are wanted
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
