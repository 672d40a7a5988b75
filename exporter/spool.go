package exporter

import (
	"context"

	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record/mirror"
)

func init() {
	otlp.Spool = func(delivery any, s *mirror.Spool) (queue.Sender, string) {
		o := &delivery.(*Delivery).outbox
		o.spool = s
		return inTurn{o}, o.to
	}
}

// store puts a list of items into the spool, until the queue releases them.
func (o *outbox) store(batch []encoded) {
	o.spool.Begin()
	defer o.spool.Commit()
	for i := range batch {
		items := &batch[i].items
		batch[i].receipt = o.spool.Put(uint64(max(0, items.Count)), items.Group(), items.Bytes)
	}
}

// release runs under the queue's lock.
func (o *outbox) release(e encoded) {
	e.items.Release()
	if e.receipt > 0 {
		o.spool.Done(e.receipt)
	}
}

// An inTurn sends requests after those of other goroutines.
type inTurn struct{ *outbox }

func (i inTurn) Send(ctx context.Context, body []byte) queue.Answer {
	i.turns.Lock()
	defer i.turns.Unlock()
	return i.sender.Send(ctx, body)
}
