// Package queue delivers items to a receiver in batches: spans, log records, profiles.
//
//	q := queue.New(queue.Config[item]{
//		What: "spans", To: "http://localhost:4318", MaxCount: 2048, MaxBytes: 32 << 20, BatchCount: 512, BatchBytes: 3 << 20,
//		Delay: 5 * time.Second, Timeout: 10 * time.Second, Send: queue.Encoded(appendRequest, sender),
//	})
//	q.Add(item{spans})
//	…
//	err := q.Shutdown(ctx)
//
// # Guarantees
//
//   - [Queue.Add] takes one short lock. It never waits for the receiver and never fails; it counts.
//   - The waiting items are bounded, together with the batch that is being sent.
//   - The books balance at every read: Accepted = Delivered + Failed + Dropped + Pending.
//   - One goroutine sends, one batch at a time, oldest items first, but for those that
//     [Answer].Aside puts behind the others.
//   - An empty queue does nothing: no goroutine wakes up, no timer runs.
//   - A pause between two attempts is 0.3 s at first and grows to 3 s, less up to a half of it by
//     chance.
//   - A receiver may ask for a longer pause, up to 5 minutes. Up to a tenth is added to it by
//     chance.
//   - Flush and Shutdown end a pause of the queue. They shorten a pause that the receiver asked for
//     to 3 s, once for each pause. While they wait, no pause is longer than 3 s.
//   - The log has a line with the reason when delivery begins to fail, and one with the number of
//     lost items when it works again. It has five such pairs a minute at most.
//   - A receiver that does not know the items gets none for the time of [Config].UnknownPause. The
//     log has one line about it, and no other until delivery works.
//   - Items that the receiver turns down have a line an hour for each reason. Items that find the
//     queue full while delivery works have a line an hour.
//   - After [Queue.Shutdown] no goroutine is left, unless Send ignores its context.
//
// # Limitations
//
//   - An item is delivered twice when the receiver took it, but its answer was lost and the Sender
//     asks for a retry.
//   - The logger runs on the sending goroutine: a handler that blocks stops delivery, but neither
//     Add nor Stats.
//   - Send runs on that goroutine, too. A panic of either is recovered.
package queue
