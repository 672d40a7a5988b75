package bridgehttp

import (
	"context"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"

	"github.com/perfline/perfline/bridge/internal/kinds"
)

// An exchange is what the metrics of a request tell apart. Requests of one kind
// share their attributes, which are made once.
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

// attributes are those of the exchange's metrics.
func (x *exchange) attributes() []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, 8),
		semconv.HTTPRequestMethodKey.String(x.method),
		semconv.URLScheme(x.scheme))
	if x.version != "" {
		attrs = append(attrs, semconv.NetworkProtocolVersion(x.version))
	}
	if x.server != "" {
		attrs = append(attrs, semconv.ServerAddress(x.server))
	}
	if x.port > 0 {
		attrs = append(attrs, semconv.ServerPort(x.port))
	}
	return append(attrs, x.outcome()...)
}

// outcome are the attributes that are known at the end only.
func (x *exchange) outcome() (attrs []attribute.KeyValue) {
	if x.route != "" {
		attrs = append(attrs, semconv.HTTPRoute(x.route))
	}
	if x.status > 0 {
		attrs = append(attrs, semconv.HTTPResponseStatusCode(x.status))
	}
	if x.failure != "" {
		attrs = append(attrs, semconv.ErrorTypeKey.String(x.failure))
	}
	return attrs
}

// fail is error.type of a status that is an error.
func (x *exchange) fail(from int) {
	if x.failure == "" && x.status >= from {
		x.failure = strconv.Itoa(x.status)
	}
}

// A kept is what is made once for all exchanges of a kind.
type kept struct {
	name    string // of a server's span, if the route is known
	record  []metric.RecordOption
	outcome []attribute.KeyValue
}

type exchanges = kinds.Map[exchange, *kept]

func newKept(x exchange) (exchange, *kept) {
	// Clones: these may be parts of a whole URL or request.
	x.method, x.scheme, x.server = strings.Clone(x.method), strings.Clone(x.scheme), strings.Clone(x.server)
	x.route, x.failure = strings.Clone(x.route), strings.Clone(x.failure)
	return x, &kept{
		name:    spanMethod(x.method) + " " + x.route,
		record:  []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(x.attributes()...))},
		outcome: x.outcome(),
	}
}

// A serverMeter records the metrics of the conventions for HTTP servers.
type serverMeter struct {
	duration  httpconv.ServerRequestDuration
	sizes     bool // those that follow are made
	requests  httpconv.ServerRequestBodySize
	responses httpconv.ServerResponseBodySize
}

func newServerMeter(m metric.Meter, sizes bool) serverMeter {
	s := serverMeter{duration: instrument(httpconv.NewServerRequestDuration(m)), sizes: sizes}
	if sizes {
		s.requests = instrument(httpconv.NewServerRequestBodySize(m))
		s.responses = instrument(httpconv.NewServerResponseBodySize(m))
	}
	return s
}

func (s *serverMeter) record(ctx context.Context, took time.Duration, received, sent int64, k *kept) {
	s.duration.Inst().Record(ctx, took.Seconds(), k.record...)
	if s.sizes {
		s.requests.Inst().Record(ctx, received, k.record...)
		s.responses.Inst().Record(ctx, sent, k.record...)
	}
}

// A clientMeter does it for clients.
type clientMeter struct {
	duration httpconv.ClientRequestDuration
	sizes    bool // requests is made
	requests httpconv.ClientRequestBodySize
}

func newClientMeter(m metric.Meter, sizes bool) clientMeter {
	c := clientMeter{duration: instrument(httpconv.NewClientRequestDuration(m)), sizes: sizes}
	if sizes {
		c.requests = instrument(httpconv.NewClientRequestBodySize(m))
	}
	return c
}

func (c *clientMeter) record(ctx context.Context, took time.Duration, sent int64, k *kept) {
	c.duration.Inst().Record(ctx, took.Seconds(), k.record...)
	if c.sizes {
		c.requests.Inst().Record(ctx, sent, k.record...)
	}
}

// instrument reports an instrument that cannot be made; what comes with the error
// does nothing.
func instrument[T any](t T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return t
}
