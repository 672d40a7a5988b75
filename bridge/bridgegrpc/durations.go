package bridgegrpc

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/grpc/codes"

	"github.com/perfline/perfline/bridge/internal/kinds"
)

// durations is a histogram of calls' durations. It keeps the attributes of each kind of call as a
// set, which costs more to make than to record.
type durations struct {
	histogram metric.Float64Histogram
	sets      *kinds.Map[outcome, []metric.RecordOption]
}

type outcome struct {
	method string
	code   codes.Code
	failed bool
}

func newDurations(histogram metric.Float64Histogram) durations {
	return durations{histogram: histogram, sets: kinds.New(newSet)}
}

// record records how long a call took.
func (d *durations) record(ctx context.Context, method string, code codes.Code, failed bool,
	took time.Duration) {
	if d.histogram.Enabled(ctx) {
		d.histogram.Record(ctx, took.Seconds(),
			d.sets.Get(outcome{method, code, failed}, method, int(code))...)
	}
}

func newSet(o outcome) (outcome, []metric.RecordOption) {
	o.method = strings.Clone(o.method) // it may be a part of the call's header
	code := codeName(o.code)
	attrs := append(make([]attribute.KeyValue, 0, 4), semconv.RPCSystemNameGRPC,
		semconv.RPCMethod(o.method), semconv.RPCResponseStatusCode(code))
	if o.failed {
		attrs = append(attrs, semconv.ErrorTypeKey.String(code))
	}
	return o, []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
}
