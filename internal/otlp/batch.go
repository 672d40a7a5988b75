package otlp

import (
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// A Batch says how spans wait and travel together.
type Batch struct {
	QueueSize int           // spans that may wait, from 1 to MaxQueueSize
	BatchSize int           // spans of a request, 1 or more; the queue takes half of its own size at most
	Delay     time.Duration // how long a span waits for others; 0 means not at all
	Timeout   time.Duration // how long delivery of a batch is tried; 0 means no limit
}

// The number of spans that may wait.
const (
	DefaultQueueSize = 8192    // unless a field or a variable has another number
	MaxQueueSize     = 1 << 24 // the largest number that a field or a variable may have
)

// ReadBatch reads the variables OTEL_BSP_*. A queueSize that is not 0 wins over its variable. The caller has checked that it is
// from 0 to [MaxQueueSize].
func ReadBatch(vars *environ.Reader, queueSize int) Batch {
	count := environ.Count(MaxQueueSize)
	b := Batch{
		QueueSize: environ.Read(vars, DefaultQueueSize, count, "OTEL_BSP_MAX_QUEUE_SIZE"),
		BatchSize: environ.Read(vars, 512, count, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
		Delay:     environ.Read(vars, 5*time.Second, environ.Milliseconds(0), "OTEL_BSP_SCHEDULE_DELAY"),
		Timeout:   environ.Read(vars, 30*time.Second, environ.Milliseconds(0), "OTEL_BSP_EXPORT_TIMEOUT"),
	}
	if queueSize > 0 {
		b.QueueSize = queueSize
	}
	return b
}
