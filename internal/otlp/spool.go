package otlp

import (
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record/mirror"
)

// Spool lets the black box keep the spans that wait in an exporter.Delivery. Call Spool before the
// first span. Spool returns a sender that takes turns with the delivery, until the delivery's
// Shutdown, and the name of the receiver. Package exporter sets Spool, because a public method must
// not name internal types.
var Spool func(delivery any, s *mirror.Spool) (to queue.Sender, name string)
