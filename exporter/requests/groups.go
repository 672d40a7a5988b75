package requests

import (
	"slices"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// maxGroups is how many groups the spans in memory have. Programs have as many as they have tracers, unless they
// make tracers or providers without end.
const maxGroups = 1024

// groups gives numbers to the groups of the spans in memory.
type groups struct {
	list   []*otlpenc.Group // readers have it, too: an entry that is in use does not change
	uses   []int            // by number
	number map[*otlpenc.Group]uint16
	free   []uint16 // entries of list that are nil
	last   uint16   // of the group that was found last
}

// find returns a group's number. ok is false if maxGroups others are in use.
func (g *groups) find(group *otlpenc.Group) (n uint16, ok bool) {
	if int(g.last) < len(g.list) && g.list[g.last] == group {
		return g.last, true
	}
	if n, ok := g.number[group]; ok {
		g.last = n
		return n, true
	}
	if g.number == nil {
		g.number = map[*otlpenc.Group]uint16{}
	}
	if len(g.list) < maxGroups {
		g.list, g.uses = append(g.list, group), append(g.uses, 0)
		n = uint16(len(g.list) - 1)
		g.number[group] = n
		return n, true
	}
	if len(g.free) == 0 {
		g.reclaim()
	}
	last := len(g.free) - 1
	if last < 0 {
		return 0, false
	}
	n = g.free[last]
	g.free = g.free[:last]
	g.list[n] = group
	g.number[group] = n
	return n, true
}

// reclaim frees the numbers that are not in use.
func (g *groups) reclaim() {
	if !slices.Contains(g.uses, 0) {
		return
	}
	g.list = slices.Clone(g.list)
	for n, uses := range g.uses {
		if uses == 0 {
			delete(g.number, g.list[n])
			g.list[n] = nil
			g.free = append(g.free, uint16(n))
		}
	}
}
