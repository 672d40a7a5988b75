package mirror

import (
	"encoding/binary"
	"math"
)

// A Group has what the spans of an item share, as encoded fields of OTLP: those of a ResourceSpans
// without the scopes, and those of a ScopeSpans without the spans. A Group must be comparable, and
// must not change.
type Group interface {
	Fields() (resource, scope string)
}

// The groups lie between the head of a spool and its ring. An item has the number of its group. If
// a group has no room, its items are whole requests.
const (
	groupsShare = 64 // the part of the memory

	groupSum      = 0 // of the bytes behind it
	groupResource = 4 // a length
	groupScope    = 8 // a length
	groupBytes    = 12
)

// groupsSize returns the bytes for the groups of a spool of a size.
func groupsSize(size int) int { return size / groupsShare &^ 7 }

// number returns the number of a group, or 0. s.mu is held.
func (s *Spool) number(g Group) uint32 {
	if g == nil {
		return 0
	}
	n, known := s.numbers[g]
	if known || len(s.numbers) > math.MaxUint16 {
		return n
	}
	resource, scope := g.Fields()
	size := (groupBytes + len(resource) + len(scope) + 7) &^ 7
	if size <= len(s.groups)-s.used {
		b := make([]byte, groupBytes, size)
		order.PutUint32(b[groupResource:], uint32(len(resource))) //nolint:gosec // small
		order.PutUint32(b[groupScope:], uint32(len(scope)))       //nolint:gosec // small
		b = append(append(b, resource...), scope...)
		order.PutUint32(b, checksum(b[groupSum+4:]))
		s.memory.write(s.groups[s.used:], b, nil, 0)
		s.used += size
		s.last++
		n = s.last
	}
	s.numbers[g] = n
	return n
}

// A fields is a group in memory.
type fields struct{ resource, scope string }

func (f fields) Fields() (resource, scope string) { return f.resource, f.scope }

// groupsIn returns the groups of a spool in memory. groupsIn ends at the first one that is
// incomplete.
func groupsIn(b []byte) (all []fields) {
	for len(b) >= groupBytes {
		resource := uint64(order.Uint32(b[groupResource:]))
		scope := uint64(order.Uint32(b[groupScope:]))
		size := groupBytes + resource + scope
		if size > uint64(len(b)) || order.Uint32(b) != checksum(b[groupSum+4:size]) {
			break
		}
		text := string(b[groupBytes:size])
		all = append(all, fields{text[:resource], text[resource:]})
		b = b[min((size+7)&^7, uint64(len(b))):]
	}
	return all
}

// appendRequest appends an ExportTraceServiceRequest of OTLP with the encoded spans of a group.
func appendRequest(b []byte, g Group, spans []byte) []byte {
	const resourceSpans, scopeSpans = 1<<3 | 2, 2<<3 | 2 // the fields' tags
	resource, scope := g.Fields()
	inner := uint64(len(scope) + len(spans))
	var length [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(length[:], inner)
	b = append(b, resourceSpans)
	b = binary.AppendUvarint(b, uint64(len(resource)+1+n)+inner)
	b = append(append(b, resource...), scopeSpans)
	b = append(b, length[:n]...)
	return append(append(b, scope...), spans...)
}
