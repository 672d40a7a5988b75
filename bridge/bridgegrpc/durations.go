package bridgegrpc

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"google.golang.org/grpc/codes"
)

// maxSets bounds the attribute sets that are kept: clients make up methods where a
// server takes any, and servers make up codes.
const maxSets = 1024

// durations is a histogram of calls' durations. It keeps the attributes of each
// kind of call as a set, which costs more to make than to record.
type durations struct {
	histogram metric.Float64Histogram
	sets      atomic.Pointer[map[outcome][]metric.RecordOption] // what it points to does not change
}

type outcome struct {
	method string
	code   codes.Code
}

// record records how long a call took. failed must depend on nothing but the code.
func (d *durations) record(ctx context.Context, method string, code codes.Code, failed bool, took time.Duration) {
	if d.histogram.Enabled(ctx) {
		d.histogram.Record(ctx, took.Seconds(), d.attributes(outcome{method, code}, failed)...)
	}
}

func (d *durations) attributes(o outcome, failed bool) []metric.RecordOption {
	if sets := d.sets.Load(); sets != nil {
		if opts, ok := (*sets)[o]; ok {
			return opts
		}
	}
	code := codeName(o.code)
	attrs := make([]attribute.KeyValue, 0, 4)
	attrs = append(attrs, semconv.RPCSystemNameGRPC, semconv.RPCMethod(o.method), semconv.RPCResponseStatusCode(code))
	if failed {
		attrs = append(attrs, semconv.ErrorTypeKey.String(code))
	}
	opts := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
	d.keep(o, opts)
	return opts
}

// keep adds to a copy. When another addition is quicker, the next call of that
// kind tries again.
func (d *durations) keep(o outcome, opts []metric.RecordOption) {
	old, sets := d.sets.Load(), map[outcome][]metric.RecordOption{}
	if old != nil {
		if len(*old) >= maxSets {
			return
		}
		sets = maps.Clone(*old)
	}
	sets[o] = opts
	d.sets.CompareAndSwap(old, &sets)
}
