package observer

import (
	"log/slog"
	"slices"
	"time"
)

// A record is an entry as it is written, with its attributes beside it, packed. The collector makes an Entry of it.
type record struct {
	tl       *Timeline
	name     string
	start    time.Duration // since the root's origin, as at
	duration time.Duration
	at       time.Duration // when it was recorded
	ids      SpanIDs
	attrs    uint16 // where its attributes begin
	nattrs   uint8
	kind     kind
}

const (
	// chunkLen and chunkAttrs make a chunk of less than 5 KiB.
	chunkLen   = 24
	chunkAttrs = 60
	// pendingPerChunk is how many entries of TimelineOptions.MaxPending a chunk
	// stands for: fewer than it has room for, since not all are filled.
	pendingPerChunk = 16
	// maxInline is how many attributes of one record go into the chunk. An entry
	// with more has them in a slice of its own.
	maxInline = 16
)

// A chunk is a run of records. While it is in use, those below n and attributes
// below nattrs are immutable and the rest is zero. In the pool it still has what
// it had: its next writer clears it, whose cache then has it.
type chunk struct {
	n       int
	nattrs  int
	latest  time.Duration // the largest at of its records
	records [chunkLen]record
	attrs   [chunkAttrs]slog.Attr
}

// boxed holds the attributes of a record that has more than maxInline.
type boxed struct{ attrs []slog.Attr }

// box is attrs as a chunk can hold it.
func box(attrs []slog.Attr) []slog.Attr {
	if len(attrs) <= maxInline {
		return attrs
	}
	return []slog.Attr{slog.Any("", &boxed{slices.Clone(attrs)})}
}

// entry makes the entry of record i. Its attributes are the chunk's: valid until the chunk is used again.
func (c *chunk) entry(i int) Entry {
	rec := &c.records[i]
	return Entry{
		name:     rec.name,
		start:    rec.start,
		duration: rec.duration,
		at:       rec.at,
		base:     rec.tl.origin,
		tl:       rec.tl,
		ids:      rec.ids,
		attrs:    c.attributes(rec),
		kind:     rec.kind,
	}
}

func (c *chunk) attributes(rec *record) []slog.Attr {
	if rec.nattrs == 0 {
		return nil
	}
	to := int(rec.attrs) + int(rec.nattrs)
	attrs := c.attrs[rec.attrs:to:to]
	if rec.nattrs == 1 && attrs[0].Key == "" {
		if b, ok := attrs[0].Value.Any().(*boxed); ok {
			return b.attrs
		}
	}
	return attrs
}

// reset makes a chunk ready for use again and drops what it refers to.
func (c *chunk) reset() {
	clear(c.records[:c.n])
	clear(c.attrs[:c.nattrs])
	c.n, c.nattrs, c.latest = 0, 0, 0
}

// A ref is a record and where it was written.
type ref struct {
	c *chunk
	i int
}

func (r ref) record() *record { return &r.c.records[r.i] }

func (r ref) entry() Entry { return r.c.entry(r.i) }
