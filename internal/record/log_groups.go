package record

import (
	"log/slog"
	"slices"
)

// LogGroups are the groups that WithGroup opened on a [slog.Handler], the outermost one first. They
// do not change: Open and With return others, as WithGroup and WithAttrs do.
type LogGroups []logGroup

type logGroup struct {
	name  string
	attrs []slog.Attr
}

// Open returns the groups with one more inside them.
func (g LogGroups) Open(name string) LogGroups {
	return append(slices.Clip(g), logGroup{name: name})
}

// With returns the groups with attributes in the innermost one. There must be a group.
func (g LogGroups) With(attrs []slog.Attr) LogGroups {
	g = slices.Clone(g)
	last := &g[len(g)-1]
	last.attrs = slices.Concat(last.attrs, attrs)
	return g
}

// Around returns the attributes of r inside the groups, without groups that are empty.
func (g LogGroups) Around(r slog.Record) []slog.Attr {
	inner := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		inner = append(inner, a)
		return true
	})
	for _, outer := range slices.Backward(g) {
		if all := slices.Concat(outer.attrs, inner); len(all) > 0 {
			inner = []slog.Attr{{Key: outer.name, Value: slog.GroupValue(all...)}}
		}
	}
	return inner
}
