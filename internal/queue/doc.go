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
//   - [Queue.Add] takes one short lock. It never waits for the receiver and never fails: it counts
//     losses.
//   - The waiting items and the batch that is being sent are bounded together.
//   - The counts balance at every read: Accepted = Delivered + Failed + Dropped + Pending.
//   - One goroutine sends, one batch at a time, oldest items first, except for items that
//     [Answer].Defer postpones.
//   - An empty queue is idle: no goroutine wakes up, no timer runs.
//   - A pause between two attempts grows from 0.3 s to 3 s, less a random part of up to one half.
//   - A receiver may ask for a longer pause, up to 5 minutes. A random part of up to a tenth is
//     added.
//   - Flush and Shutdown end a pause of the queue. They shorten a pause of the receiver to 3 s,
//     once for each pause. While they wait, no pause is longer than 3 s.
//   - The log gets one line with the reason when delivery starts failing, and one with the number
//     of lost items when delivery recovers. The limit is five such pairs a minute.
//   - A receiver that does not support the items gets none during [Config].UnknownPause. The log
//     gets one line about it, and no other until delivery works.
//   - Rejected items are logged once an hour for each reason. Items dropped at a full queue while
//     delivery works are logged once an hour.
//   - After [Queue.Shutdown] no goroutine is left, unless Send ignores its context.
//
// # Limitations
//
//   - An item is delivered twice if the receiver accepted it, its answer was lost, and the Sender
//     asks for a retry.
//   - Send and the logger run on the sending goroutine. A log handler that blocks stops delivery,
//     but neither Add nor Stats. A panic of either is recovered.
package queue
