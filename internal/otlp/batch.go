package otlp

import (
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// A Batch says how spans or log records wait and travel together.
type Batch struct {
	QueueSize int           // items that may wait, from 1 to MaxQueueSize
	BatchSize int           // items of a request, 1 or more; the queue takes half of its own size at most
	Delay     time.Duration // how long an item waits for others; 0 means not at all
	Timeout   time.Duration // how long delivery of a batch is tried; 0 means no limit
}

// The number of items that may wait.
const (
	DefaultQueueSize = 8192    // unless a field or a variable has another number
	MaxQueueSize     = 1 << 24 // the largest number that a field or a variable may have
)

// ReadBatch reads the variables OTEL_BLRP_* of logs, and OTEL_BSP_* of other signals. A queueSize that is not 0 wins over its
// variable. The caller has checked that it is from 0 to [MaxQueueSize].
func ReadBatch(vars *environ.Reader, signal Signal, queueSize int) Batch {
	prefix, delay := "OTEL_BSP_", 5*time.Second
	if signal == Logs {
		prefix, delay = "OTEL_BLRP_", time.Second
	}
	count := environ.Count(MaxQueueSize)
	b := Batch{
		QueueSize: environ.Read(vars, DefaultQueueSize, count, prefix+"MAX_QUEUE_SIZE"),
		BatchSize: environ.Read(vars, 512, count, prefix+"MAX_EXPORT_BATCH_SIZE"),
		Delay:     environ.Read(vars, delay, environ.Milliseconds(0), prefix+"SCHEDULE_DELAY"),
		Timeout:   environ.Read(vars, 30*time.Second, environ.Milliseconds(0), prefix+"EXPORT_TIMEOUT"),
	}
	if queueSize > 0 {
		b.QueueSize = queueSize
	}
	return b
}
