package otlp

import (
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// A Batch configures the queue and the batches of spans or log records.
type Batch struct {
	QueueSize int           // maximum number of waiting items, from 1 to MaxQueueSize
	BatchSize int           // maximum number of items in a request, at least 1; see ReadBatch
	Delay     time.Duration // time that an item waits for a batch to fill; 0: no wait
	Timeout   time.Duration // limit for all attempts to deliver a batch; 0: no limit
}

// Bounds of the number of waiting items.
const (
	DefaultQueueSize = 8192    // without a field or a variable
	MaxQueueSize     = 1 << 24 // largest valid value of a field or a variable
)

// batchVariables contains the names of a signal's variables for a [Batch].
type batchVariables struct{ queueSize, batchSize, delay, timeout string }

var (
	spanBatch = batchVariables{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
		"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT"}
	logBatch = batchVariables{"OTEL_BLRP_MAX_QUEUE_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
		"OTEL_BLRP_SCHEDULE_DELAY", "OTEL_BLRP_EXPORT_TIMEOUT"}
)

// ReadBatch reads the batch settings of a signal. The variables are OTEL_BLRP_* for logs, and
// OTEL_BSP_* for all other signals. A queueSize above 0 overrides the variable of the queue size.
// The caller must check that queueSize is from 0 to [MaxQueueSize]. The queue limits a batch to
// half of the queue size.
func ReadBatch(vars *environ.Reader, signal Signal, queueSize int) Batch {
	names, delay := spanBatch, 5*time.Second
	if signal == Logs {
		names, delay = logBatch, time.Second
	}
	count := environ.Integer(1, MaxQueueSize)
	b := Batch{
		QueueSize: environ.Read(vars, DefaultQueueSize, count, names.queueSize),
		BatchSize: environ.Read(vars, 512, count, names.batchSize),
		Delay:     environ.Read(vars, delay, environ.Milliseconds(0), names.delay),
		Timeout:   environ.Read(vars, 30*time.Second, environ.Milliseconds(0), names.timeout),
	}
	if queueSize > 0 {
		b.QueueSize = queueSize
	}
	return b
}
