package mirror

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// The size of a slot: the header, the route, and the cells.
const (
	cellSize   = 192
	cellsAt    = 320
	largeCells = 19
	openCells  = 6 // the first cells of a large slot have open spans

	// LargeSlot and SmallSlot are the bytes of a slot in a region. Large slots have an odd number
	// of cache lines, so that the caches have room for the beginnings of many.
	LargeSlot = 4032
	SmallSlot = 512
	// RegionTail is the size in bytes of the number of requests without a slot, behind the slots.
	RegionTail = 8
)

// The header of a slot. The first word is the state. The checksum covers the bytes behind it, up to
// the end of the text.
const (
	headState     = 0
	headSum       = 8
	headGen       = 12
	headTrace     = 16
	headSpan      = 32
	headParent    = 40
	headStart     = 48
	headGoroutine = 56
	headKind      = 64
	headFlags     = 65
	headNameLen   = 66 // behind the flags, as headTextLen
	headTextLen   = 67
	headText      = 68 // the name, and the attributes
	headEnd       = 216
	maxName       = 88

	// the end of the request; the checksum covers the bytes behind it
	endSum   = 216
	endGen   = 220
	endAt    = 224
	endFlags = 232
	endEnd   = 240

	routeSum  = 240 // covers the bytes behind it, up to the end of the route
	routeGen  = 244
	routeLen  = 248
	routeText = 249
	routeEnd  = 320
)

// A cell of a slot. The checksum covers the bytes behind it, up to the end of the attributes.
const (
	cellSum       = 0
	cellGen       = 4
	cellSeq       = 8
	cellLost      = 12 // the open spans without a cell so far
	cellStart     = 16
	cellDuration  = 24
	cellSpan      = 32
	cellParent    = 40
	cellGoroutine = 48
	cellKind      = 56
	cellFlags     = 57
	cellNameLen   = 58 // behind the flags, as cellTextLen
	cellTextLen   = 59
	cellText      = 60
	maxCellName   = 72
)

// The state of a slot: the generation, whether the slot has a request, the number of entries that
// were handed over, and whether a backend has taken the request. Only readers set the last bit.
const (
	inUse      = 1 << 32
	handedFrom = 33 // the first bit of the number
	takenBit   = 63
	maxHanded  = 1<<(takenBit-handedFrom) - 1
	takenByte  = 7 // of the state
)

// Taken is the bit of a byte that says that a backend has taken an item of a spool, or a request of
// a slot.
const Taken = 1 << 7

var (
	order = binary.LittleEndian
	table = crc32.MakeTable(crc32.Castagnoli)
)

// checksum returns the checksum of an item or a group of a spool.
func checksum(b []byte) uint32 { return crc32.Checksum(b, table) }

// mix returns the checksum of a part of a slot. For so few bytes it is faster than a CRC, and the
// bytes may lie on the stack. As in wyhash, each step folds a product of 128 bits.
func mix(b []byte) uint32 {
	const odd, odd2 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h := uint64(len(b)) ^ odd
	step := func(x, y uint64) {
		high, low := bits.Mul64(x^h, y^odd2)
		h = high ^ low
	}
	rest := b
	for len(rest) > 16 {
		step(order.Uint64(rest), order.Uint64(rest[8:]))
		rest = rest[16:]
	}
	if len(b) >= 16 { // the last bytes, also if some count twice
		step(order.Uint64(b[len(b)-16:]), order.Uint64(b[len(b)-8:]))
	} else {
		var last [16]byte
		copy(last[:], b)
		step(order.Uint64(last[:]), order.Uint64(last[8:]))
	}
	step(odd2, odd)
	return uint32(h ^ h>>32) //nolint:gosec // all bits count
}
