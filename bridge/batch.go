package bridge

import (
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
)

// A batch is what of one collection pass concerns OpenTelemetry, copied: the
// timeline's own memory is valid during the pass only. Batches are used again.
type batch struct {
	items []item
	attrs []slog.Attr
}

// An item is an entry, or a message where typ is empty.
type item struct {
	typ      observer.Type
	name     string
	scope    any
	start    time.Time
	duration time.Duration
	from, to int // its attributes in the batch
}

func (b *batch) add(e *observer.Entry) {
	from := len(b.attrs)
	b.attrs = e.AppendDetail(b.attrs)
	b.items = append(b.items, item{
		typ: e.Type(), name: text.Valid(e.Name()), scope: e.Scope(),
		start: e.Time(), duration: e.Duration(), from: from, to: len(b.attrs),
	})
}

func (b *batch) detail(i *item) []slog.Attr { return b.attrs[i.from:i.to:i.to] }

// reset empties the batch and reports whether it is worth keeping.
func (b *batch) reset() bool {
	const maxCap = 1 << 14
	clear(b.items)
	clear(b.attrs)
	b.items, b.attrs = b.items[:0], b.attrs[:0]
	return cap(b.items) > 0 && cap(b.items) <= maxCap && cap(b.attrs) <= 4*maxCap
}

// span is the start and end of the span that a measure becomes: a measure may
// run backwards, a span may not.
func (i *item) span() (start, end time.Time) {
	end = i.start.Add(i.duration)
	if i.duration < 0 {
		return end, i.start
	}
	return i.start, end
}
