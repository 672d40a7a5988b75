package marks

import (
	"context"
	"log/slog"
	"slices"

	"github.com/perfline/perfline/internal/record"
)

// NewHandler returns a [slog.Handler] that records log records as marks. A record becomes a mark if
// the record's level is at least level. The mark belongs to the timeline of the record's context.
// If the handler next is enabled for a record, the unchanged record also goes to next:
//
//	log := slog.New(marks.NewHandler(slog.NewJSONHandler(os.Stderr, nil), nil))
//	log.WarnContext(ctx, "retry", "attempt", 2) // logged, and a mark of ctx's request
//
// A nil level means [slog.LevelWarn]. If next is nil, records only become marks. A handler without
// next can be part of a [slog.NewMultiHandler].
//
//   - The mark's name is the message of the record. The message should be a constant string.
//   - The mark's time is the current time. The handler ignores the time of the record.
//   - The mark's attributes are the level ("level", as text), the handler's attributes and the
//     record's attributes. The groups of WithGroup enclose these attributes as in slog. The level
//     stays outside the groups. The handler omits empty attributes and empty groups.
//   - The handler freezes attributes by the rules of package observer. WithAttrs freezes the
//     handler's attributes. Handle freezes the record's attributes when the record becomes a mark.
//   - The mark allocates nothing with up to seven scalar attributes outside groups. The handler's
//     attributes count, too.
//   - Under a span that is not recorded, the handler drops the mark in the same cases as [Mark].
//   - The method Handle returns the error of next. A mark causes no error.
//
// next may be slog's default handler, even if the result becomes the default logger. The handler
// then writes lines to the destination that package log uses when NewHandler is called.
//
// Without a context (Warn instead of WarnContext), the mark belongs to the process timeline. The
// callback of an observer of marks may log at level. The callback then also receives a mark for
// each such line. The timeline's log line about a panic does not become a mark.
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

// Enabled returns true if next is enabled for the level. Enabled also returns true if a record of
// the level becomes a mark under ctx.
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
