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

// durations is a histogram of calls' durations. It stores the attribute set of each kind of call,
// because making a set costs more than recording.
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

func (d *durations) record(ctx context.Context, o outcome, duration time.Duration) {
	if d.histogram.Enabled(ctx) {
		d.histogram.Record(ctx, duration.Seconds(), d.sets.Get(o, o.method, int(o.code))...)
	}
}

func newSet(o outcome) (outcome, []metric.RecordOption) {
	o.method = strings.Clone(o.method) // the original may retain the call's header
	code := codeName(o.code)
	attrs := append(make([]attribute.KeyValue, 0, 4), semconv.RPCSystemNameGRPC,
		semconv.RPCMethod(o.method), semconv.RPCResponseStatusCode(code))
	if o.failed {
		attrs = append(attrs, semconv.ErrorTypeKey.String(code))
	}
	return o, []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
}
