// Package queue delivers items to a receiver in batches: spans, log records, profiles.
//
//	q := queue.New(queue.Config[item]{
//		What: "spans", To: "http://localhost:4318", MaxCount: 2048, MaxBytes: 32 << 20,
//		BatchCount: 512, BatchBytes: 3 << 20,
//		Delay: 5 * time.Second, Timeout: 10 * time.Second,
//		Send: queue.Encoded(appendRequest, sender),
//	})
//	q.Add(item{spans})
//	…
//	err := q.Shutdown(ctx)
//
// # Guarantees
//
//   - [Queue.Add] locks one mutex for a short time. Add never waits for the receiver and never
//     fails. The queue counts lost items.
//   - The limits apply to the sum of the waiting items and the batch that is being sent.
//   - The counts balance at every read: Accepted = Delivered + Failed + Dropped + Pending.
//   - One goroutine sends, one batch at a time, oldest items first, except for items that
//     [Answer].Defer postpones.
//   - An empty queue is idle: no goroutine wakes up, no timer runs.
//   - A pause between two attempts grows from 0.3 s to 3 s, less a random part of up to one half.
//   - A receiver may ask for a longer pause, up to 5 minutes. The queue adds a random part of up to
//     a tenth.
//   - Flush and Shutdown end a pause of the queue. If the receiver asked for the pause, Flush and
//     Shutdown shorten the pause to 3 s, once for each pause. During Flush and Shutdown, no pause
//     is longer than 3 s.
//   - The queue logs one line with the reason when delivery starts failing. The queue logs one line
//     with the number of lost items when delivery recovers. The limit is five such pairs a minute.
//   - If a receiver does not support the items, the queue sends nothing during
//     [Config].UnknownPause. The queue logs one line, and no further line until delivery works.
//   - The queue logs rejected items once an hour for each reason. If delivery works, but a full
//     queue drops items, the queue logs these items once an hour.
//   - After [Queue.Shutdown], no goroutine of the queue runs, unless Send ignores the context.
//
// # Limitations
//
//   - If the answer of the receiver is lost and the Sender asks for a retry, an item may arrive
//     twice.
//   - Send and the logger run on the sending goroutine. If a log handler blocks, delivery stops,
//     but Add and Stats do not block. The queue recovers panics of Send and of the logger.
package queue
