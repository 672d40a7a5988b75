package record

import (
	"log/slog"
	"slices"
)

// LogGroups stores the groups of WithGroup calls on a [slog.Handler], from the outermost group to
// the innermost group. LogGroups values are immutable. Open and With return new values.
type LogGroups []logGroup

type logGroup struct {
	name  string
	attrs []slog.Attr
}

// Open returns a copy of g with an additional group. The additional group is the innermost group.
func (g LogGroups) Open(name string) LogGroups {
	return append(slices.Clip(g), logGroup{name: name})
}

// With returns a copy of g with attrs added to the innermost group. g must not be empty.
func (g LogGroups) With(attrs []slog.Attr) LogGroups {
	g = slices.Clone(g)
	last := &g[len(g)-1]
	last.attrs = slices.Concat(last.attrs, attrs)
	return g
}

// Around returns the attributes of r, enclosed in the groups of g. Around omits empty groups.
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
