package otlp

import (
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// A Batch says how spans or log records wait and travel together.
type Batch struct {
	QueueSize int // items that may wait, from 1 to MaxQueueSize
	// items of a request, 1 or more; the queue takes half of its own size at most
	BatchSize int
	Delay     time.Duration // how long an item waits for others; 0 means not at all
	Timeout   time.Duration // how long delivery of a batch is tried; 0 means no limit
}

// The number of items that may wait.
const (
	DefaultQueueSize = 8192    // unless a field or a variable has another number
	MaxQueueSize     = 1 << 24 // the largest number that a field or a variable may have
)

// batchVariables are the names of a signal's variables for its [Batch].
type batchVariables struct{ queueSize, batchSize, delay, timeout string }

var (
	spanBatch = batchVariables{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
		"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT"}
	logBatch = batchVariables{"OTEL_BLRP_MAX_QUEUE_SIZE", "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
		"OTEL_BLRP_SCHEDULE_DELAY", "OTEL_BLRP_EXPORT_TIMEOUT"}
)

// ReadBatch reads the variables OTEL_BLRP_* of logs, and OTEL_BSP_* of other signals. A queueSize
// that is not 0 wins over its variable. The caller has checked that it is from 0 to [MaxQueueSize].
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
