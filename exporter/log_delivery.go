package exporter

import (
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpenc"
)

// A LogDelivery sends log records over OTLP, with the guarantees of a [Delivery] and counts of its
// own. Methods may be called concurrently.
//
// A receiver may not know logs: it answers UNIMPLEMENTED over gRPC, or 404 over HTTP. The log has
// one line then. The records that wait count as Failed, and records of the next 10 minutes as
// Dropped. The next record is tried.
type LogDelivery struct{ outbox }

var _ bridge.LogOutput = (*LogDelivery)(nil)

// NewLogDelivery starts a delivery of log records as [NewDelivery] starts one of spans. The
// variables are OTEL_EXPORTER_OTLP_LOGS_*, OTEL_EXPORTER_OTLP_* and OTEL_BLRP_*.
func NewLogDelivery(c Config) (*LogDelivery, error) {
	d := &LogDelivery{}
	if err := d.open(c, otlp.Logs, "log records", otlp.UnknownPause); err != nil {
		return nil, err
	}
	return d, nil
}

// AcceptLogs queues records that are encoded already, as [Delivery.Accept] queues spans.
func (d *LogDelivery) AcceptLogs(r bridge.Records) {
	d.add(d.append(d.begin(), otlpenc.Records(r)))
}
