package record

import (
	"log/slog"
	"slices"
)

// An attrSlab holds attributes. Entries share its arrays, so a slab serves only entries that live
// together: those of one buffer, or of one pass.
type attrSlab struct {
	free []slog.Attr
	size int // of the array that free is the rest of
}

// keep returns a copy of attrs that is never written again.
func (s *attrSlab) keep(attrs []slog.Attr) []slog.Attr {
	const minSlab, maxSlab = 8, 64 // attributes of an array
	n := len(attrs)
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		if n > maxSlab/4 {
			return slices.Clone(attrs)
		}
		s.size = min(max(2*s.size, 2*n, minSlab), maxSlab)
		s.free = make([]slog.Attr, s.size)
	}
	frozen := s.free[:n:n]
	s.free = s.free[n:]
	copy(frozen, attrs)
	return frozen
}
