// Package transform encodes log records by perfline's processor of the log SDK (bridge/bridgelog), and decodes by the generated types of
// OTLP. It is in place of OpenTelemetry's package, whose tests it runs. Nothing is decided here.
package transform

import (
	"context"
	"log/slog"
	"math"

	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/log/logtest"
	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	cpb "go.opentelemetry.io/proto/otlp/common/v1"
	lpb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgelog"
	"github.com/perfline/perfline/conformance/adapter"
)

// An output has the records that a processor hands out.
type output struct{ all []adapter.Records }

func (o *output) AcceptLogs(r bridge.Records) { o.all = append(o.all, adapter.Records(r.Clone())) }

func (*output) ForceFlush(context.Context) error { return nil }
func (*output) Shutdown(context.Context) error   { return nil }

func ResourceLogs(records []log.Record) []*lpb.ResourceLogs {
	out := &output{}
	p := bridgelog.NewProcessor(out, slog.Level(math.MinInt32))
	for i := range records {
		if err := p.OnEmit(context.Background(), &records[i]); err != nil {
			panic(err)
		}
	}
	return decoded(out.all)
}

// decoded returns the request that perfline makes of records.
func decoded(records []adapter.Records) []*lpb.ResourceLogs {
	var request collector.ExportLogsServiceRequest
	if err := proto.Unmarshal(adapter.LogsRequest(nil, records), &request); err != nil {
		panic(err)
	}
	return adapter.Plain(request.ResourceLogs)
}

func LogRecord(record log.Record) *lpb.LogRecord {
	return ResourceLogs([]log.Record{record})[0].ScopeLogs[0].LogRecords[0]
}

// Attrs does without a record of the SDK, which has each key once.
func Attrs(attrs []attribute.KeyValue) []*cpb.KeyValue {
	var groups adapter.Groups
	record := adapter.LogRecord{Attributes: attrs}
	group := groups.Group(nil, instrumentation.Scope{})
	return decoded([]adapter.Records{adapter.NewRecords(group, record.Append(nil, nil))})[0].ScopeLogs[0].LogRecords[0].Attributes
}

func AttrIter(iter attribute.Iterator) []*cpb.KeyValue { return Attrs(iter.ToSlice()) }

func Attr(kv attribute.KeyValue) *cpb.KeyValue { return Attrs([]attribute.KeyValue{kv})[0] }

func AttrValue(v attribute.Value) *cpb.AnyValue {
	return Attr(attribute.KeyValue{Key: "k", Value: v}).Value
}

func SeverityNumber(s api.Severity) lpb.SeverityNumber {
	return LogRecord(logtest.RecordFactory{Severity: s}.NewRecord()).SeverityNumber
}
