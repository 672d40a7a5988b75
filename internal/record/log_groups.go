package record

import (
	"log/slog"
	"slices"
)

// LogGroups are the groups of WithGroup calls on a [slog.Handler], from the outermost to the
// innermost. LogGroups are immutable: Open and With return new ones.
type LogGroups []logGroup

type logGroup struct {
	name  string
	attrs []slog.Attr
}

// Open returns the groups with one more group inside.
func (g LogGroups) Open(name string) LogGroups {
	return append(slices.Clip(g), logGroup{name: name})
}

// With returns the groups with more attributes in the innermost group. g must not be empty.
func (g LogGroups) With(attrs []slog.Attr) LogGroups {
	g = slices.Clone(g)
	last := &g[len(g)-1]
	last.attrs = slices.Concat(last.attrs, attrs)
	return g
}

// Around returns the attributes of r inside the groups, without empty groups.
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
