package marks

import (
	"context"
	"log/slog"
	"slices"

	"github.com/perfline/perfline/internal/record"
)

// NewHandler returns a [slog.Handler] that turns records at or above level into marks on the
// timeline of the record's context. The handler passes every record on to next, unchanged, when
// next is enabled for the record:
//
//	log := slog.New(marks.NewHandler(slog.NewJSONHandler(os.Stderr, nil), nil))
//	log.WarnContext(ctx, "retry", "attempt", 2) // logged, and a mark of ctx's request
//
// A nil level means [slog.LevelWarn]. With a nil next, records only become marks, which goes well
// with [slog.NewMultiHandler].
//
//   - The mark's name is the record's message, which should be a constant string. Its time is now:
//     the record's time is ignored.
//   - Its attributes are the record's level ("level", as text), the handler's and the record's,
//     inside the groups of WithGroup. Empty attributes and empty groups are left out.
//   - Attributes are frozen, as package observer says: the record's when the record becomes a mark,
//     the handler's in WithAttrs.
//   - The mark allocates nothing with up to seven attributes of scalar kinds outside groups,
//     including the handler's. Under a span that is not recorded the mark is dropped, as by Mark.
//   - Handle returns next's error. A mark causes no error.
//
// slog's default handler may be next, also when the result becomes the default logger: lines go to
// the destination that package log has when NewHandler is called.
//
// Without a context (Warn rather than WarnContext) the mark goes to the process's timeline. If an
// observer of marks logs at level in its callback, the observer is called for its own lines. The
// timeline's report of a panic is no mark.
func NewHandler(next slog.Handler, level slog.Leveler) slog.Handler {
	if level == nil {
		level = slog.LevelWarn
	}
	return &handler{next: record.LogTo(next), level: level}
}

// A handler is immutable: WithAttrs and WithGroup return new ones.
type handler struct {
	next   slog.Handler // or nil
	level  slog.Leveler
	attrs  []slog.Attr      // outside all groups, frozen
	groups record.LogGroups // with frozen attributes
}

var _ slog.Handler = (*handler)(nil)

// Enabled reports whether next is enabled, or a record of that level becomes a mark.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	if h.next != nil && h.next.Enabled(ctx, level) {
		return true
	}
	if level < h.level.Level() {
		return false
	}
	var p record.Place
	p.Locate(ctx)
	return p.Wants(record.Mark)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= h.level.Level() {
		h.mark(ctx, r)
	}
	if h.next == nil || !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// inlineMarkAttrs is the number of attributes, with the level, that cost no allocation.
const inlineMarkAttrs = 2 * record.InlineAttrs

func (h *handler) mark(ctx context.Context, r slog.Record) {
	var p record.Place
	p.Locate(ctx)
	if !p.Wants(record.Mark) {
		return
	}
	var room [inlineMarkAttrs]slog.Attr
	attrs := append(room[:0], slog.String(slog.LevelKey, r.Level.String()))
	attrs = append(attrs, h.attrs...)
	if len(h.groups) > 0 {
		attrs = append(attrs, h.groups.Around(r)...)
	} else {
		r.Attrs(func(a slog.Attr) bool {
			attrs = append(attrs, a)
			return true
		})
	}
	p.Record(record.Mark, r.Message, p.Timeline.Now(), 0, attrs)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	if h.next != nil {
		c.next = h.next.WithAttrs(attrs)
	}
	if attrs = record.Freeze(attrs); len(h.groups) > 0 {
		c.groups = h.groups.With(attrs)
	} else {
		c.attrs = slices.Concat(h.attrs, attrs)
	}
	return &c
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	if h.next != nil {
		c.next = h.next.WithGroup(name)
	}
	c.groups = h.groups.Open(name)
	return &c
}
