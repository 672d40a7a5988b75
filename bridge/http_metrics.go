package bridge

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
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
	record  []metric.RecordOption
	outcome []attribute.KeyValue
}

// exchanges keep what was made for each kind of exchange. Kinds are few; whoever
// makes them up without end (by the names a client gives its servers, say) finds
// them made anew each time.
type exchanges struct {
	known atomic.Pointer[map[exchange]*kept] // copied on write
	mu    sync.Mutex                         // held by those who write
}

const maxExchanges = 1024

func (e *exchanges) get(x exchange) *kept {
	if known := e.known.Load(); known != nil {
		if k := (*known)[x]; k != nil {
			return k
		}
	}
	return e.add(x)
}

func (e *exchanges) add(x exchange) *kept {
	k := &kept{
		record:  []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(x.attributes()...))},
		outcome: x.outcome(),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	next := map[exchange]*kept{}
	if known := e.known.Load(); known != nil {
		if len(*known) >= maxExchanges {
			return k
		}
		next = maps.Clone(*known)
	}
	next[x] = k
	e.known.Store(&next)
	return k
}

// A serverMeter records the metrics of the conventions for HTTP servers: the
// duration, which is stable, and the sizes of bodies, which are not yet.
type serverMeter struct {
	duration  httpconv.ServerRequestDuration
	requests  httpconv.ServerRequestBodySize
	responses httpconv.ServerResponseBodySize
}

func newServerMeter(m metric.Meter) (s serverMeter) {
	s.duration = instrument(httpconv.NewServerRequestDuration(m))
	s.requests = instrument(httpconv.NewServerRequestBodySize(m))
	s.responses = instrument(httpconv.NewServerResponseBodySize(m))
	return s
}

func (s *serverMeter) record(ctx context.Context, took time.Duration, received, sent int64, k *kept) {
	s.duration.Inst().Record(ctx, took.Seconds(), k.record...)
	s.requests.Inst().Record(ctx, received, k.record...)
	s.responses.Inst().Record(ctx, sent, k.record...)
}

// A clientMeter does it for clients.
type clientMeter struct {
	duration httpconv.ClientRequestDuration
	requests httpconv.ClientRequestBodySize
}

func newClientMeter(m metric.Meter) (c clientMeter) {
	c.duration = instrument(httpconv.NewClientRequestDuration(m))
	c.requests = instrument(httpconv.NewClientRequestBodySize(m))
	return c
}

// instrument reports an instrument that cannot be made; what comes with the error
// does nothing.
func instrument[T any](t T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return t
}
