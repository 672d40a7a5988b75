package otlp

import (
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// A Batch says how spans wait and travel together.
type Batch struct {
	QueueSize int           // spans that may wait, 1 or more
	BatchSize int           // spans of a request, from 1 to QueueSize
	Delay     time.Duration // how long a span waits for others; 0 means not at all
	Timeout   time.Duration // how long delivery of a batch is tried; 0 means no limit
}

// DefaultQueueSize is the number of spans that may wait unless a variable has another one.
const DefaultQueueSize = 8192

// ReadBatch reads the variables OTEL_BSP_*. A queueSize that is not 0 wins over its variable. A batch that is larger
// than the queue is cut to the queue's size.
func ReadBatch(vars *environ.Reader, queueSize int) Batch {
	count := environ.Count(environ.MaxQueueSize)
	b := Batch{
		QueueSize: environ.Read(vars, DefaultQueueSize, count, "OTEL_BSP_MAX_QUEUE_SIZE"),
		BatchSize: environ.Read(vars, 512, count, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
		Delay:     environ.Read(vars, 5*time.Second, environ.Milliseconds(0), "OTEL_BSP_SCHEDULE_DELAY"),
		Timeout:   environ.Read(vars, 30*time.Second, environ.Milliseconds(0), "OTEL_BSP_EXPORT_TIMEOUT"),
	}
	if queueSize > 0 {
		b.QueueSize = min(queueSize, environ.MaxQueueSize)
	}
	b.BatchSize = min(b.BatchSize, b.QueueSize)
	return b
}
