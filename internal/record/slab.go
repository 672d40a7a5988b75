package record

import (
	"log/slog"
	"slices"
)

// An attrSlab holds the attributes of entries that live together: in one buffer, or in one pass.
type attrSlab struct {
	free []slog.Attr
	size int // of the current array; free is the rest of the array
}

// keep returns an immutable copy of attrs.
func (s *attrSlab) keep(attrs []slog.Attr) []slog.Attr {
	const minSlab, maxSlab = 8, 64 // attributes in an array
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
