// Package queue delivers items to a receiver in batches: spans, profiles, later logs.
//
//	q := queue.New(queue.Config[otlpenc.Spans]{
//		What: "spans", To: "http://localhost:4318", MaxCount: 2048, MaxBytes: 32 << 20, BatchCount: 512, BatchBytes: 3 << 20,
//		Delay: 5 * time.Second, Timeout: 10 * time.Second, Send: queue.Encoded(otlpenc.AppendRequest, sender),
//	})
//	q.Add(spans)
//	…
//	err := q.Shutdown(ctx)
//
// # What it guarantees
//
//   - [Queue.Add] takes one short lock. It never waits for the receiver and never fails; it counts.
//   - What waits is bounded, together with the batch that is being sent.
//   - The books balance at every read: Accepted = Delivered + Failed + Dropped + Pending.
//   - One goroutine sends, one batch at a time, oldest items first, but for those that [Answer].Aside puts behind the others.
//   - An empty queue does nothing: no goroutine wakes up, no timer runs.
//   - A pause between two attempts is 0.3 s at first and grows to 3 s, less up to a half of it by chance. A pause that the receiver
//     asks for replaces it, up to 5 minutes. Flush and Shutdown end a pause, and while they wait no pause is longer than 3 s.
//   - The log has one line when delivery begins to fail, with the reason, and one when it works again, with the number of lost items,
//     at most five times a minute.
//     What the receiver turns down, and what finds the queue full while delivery works, has a line an hour for each reason.
//   - After [Queue.Shutdown] no goroutine is left, unless Send ignores its context.
//
// # Limitations
//
//   - An item is delivered twice when the receiver took it, but its answer was lost and the Sender asks for a retry.
//   - The logger runs on the sending goroutine: a handler that blocks stops delivery, but neither Add nor Stats.
//   - Send runs on that goroutine, too. A panic of either is recovered.
package queue
