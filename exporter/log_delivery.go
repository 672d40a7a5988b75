package exporter

import (
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpenc"
)

// A LogDelivery sends log records over OTLP. The guarantees are the same as for a [Delivery] of
// spans. The counts are separate. Methods may be called concurrently.
//
// A receiver that does not support log records answers UNIMPLEMENTED over gRPC, or 404 over HTTP.
// After such an answer, Config.Logger receives one line, and waiting records count as Failed.
// Records of the next 10 minutes count as Dropped. After this pause, the delivery sends the next
// record.
type LogDelivery struct{ outbox }

var _ bridge.LogOutput = (*LogDelivery)(nil)

// NewLogDelivery starts a delivery of log records. c and the variables OTEL_EXPORTER_OTLP_LOGS_*,
// OTEL_EXPORTER_OTLP_* and OTEL_BLRP_* configure the delivery. NewLogDelivery returns errors in the
// same cases as [NewDelivery].
func NewLogDelivery(c Config) (*LogDelivery, error) {
	d := &LogDelivery{}
	if err := d.open(c, otlp.Logs, "log records", otlp.UnknownPause); err != nil {
		return nil, err
	}
	return d, nil
}

// AcceptLogs queues encoded log records. If the queue is full, AcceptLogs drops log records.
// AcceptLogs never blocks. The rules of [Delivery.Accept] for memory and for invalid elements also
// apply to log records.
func (d *LogDelivery) AcceptLogs(r bridge.Records) {
	d.add(d.append(d.begin(), otlpenc.Records(r)))
}
