package continuous

import (
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/profiling"
)

// Stats returns the counts of an exporter: of q, the queue that the source's sink fills, and of the
// source.
func Stats[T queue.Item](s *Source, q *queue.Queue[T]) profiling.ExporterStats {
	d := q.Stats()
	return profiling.ExporterStats{
		Accepted: d.Accepted, Delivered: d.Delivered,
		Refused: d.Failed - d.Unanswered, Unanswered: d.Unanswered, Dropped: d.Dropped,
		Pending: d.Pending, PendingBytes: d.PendingBytes, Retries: d.Retries,
		ContinuousStats: s.Stats(),
	}
}
