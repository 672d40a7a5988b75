package blackbox

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"time"

	"github.com/perfline/perfline/internal/record/mirror"
)

// The parts of a file. Version names this layout, and the encoding of the parts.
const (
	version = 1
	size    = 8 << 20

	factsSize  = 32 << 10  // at the beginning
	statusAt   = factsSize // two pages: a process that dies while it writes one has the other
	statusSize = 16 << 10
	slotsAt    = statusAt + 2*statusSize
	larges     = 768
	smalls     = 4096
	spoolAt    = slotsAt + larges*mirror.LargeSlot + smalls*mirror.SmallSlot + mirror.RegionTail
	spoolSize  = size - spoolAt
)

// magic begins each file.
const magic = "perfline black box\n"

// A part is JSON behind its length and its checksum.
const partHead = 8

var (
	order = binary.LittleEndian
	table = crc32.MakeTable(crc32.Castagnoli)
)

// Facts do not change while the process lives.
type Facts struct {
	Version  int       `json:"version"`
	PID      int       `json:"pid"`
	Boot     string    `json:"boot,omitempty"` // names the start of the machine; "" if unknown
	Started  time.Time `json:"started"`        // when the file was made
	Origin   time.Time `json:"origin"`         // of the process timeline
	Program  string    `json:"program"`
	Main     string    `json:"main,omitempty"` // the path of the main module
	Service  string    `json:"service,omitempty"`
	Resource []byte    `json:"resource,omitempty"` // as otlpenc encodes it
	Group    string    `json:"group,omitempty"`    // the control group with the memory limit
}

// A Status is what a process said of itself at a heartbeat.
type Status struct {
	Beat   uint64    `json:"beat"`
	At     time.Time `json:"at"`
	Since  int64     `json:"since"` // nanoseconds since the origin of the timeline
	Ended  bool      `json:"ended,omitempty"`
	Memory Memory    `json:"memory"`
	Counts []Count   `json:"counts,omitempty"`
}

// A Count is one of the newest counts of the process.
type Count struct {
	What string `json:"what"`
	N    uint64 `json:"n"`
}

// encode returns a part of a file, or nil if the part is too large.
func encode(v any, limit int) []byte {
	b, err := json.Marshal(v)
	if err != nil || len(b) > limit-partHead {
		return nil
	}
	part := make([]byte, partHead, partHead+len(b))
	order.PutUint32(part, uint32(len(b))) //nolint:gosec // small
	order.PutUint32(part[4:], crc32.Checksum(b, table))
	return append(part, b...)
}

// decode decodes a part of a file. decode returns false if the part is incomplete.
func decode(part []byte, v any) bool {
	if len(part) < partHead {
		return false
	}
	n := int(order.Uint32(part))
	if n > len(part)-partHead {
		return false
	}
	b := part[partHead : partHead+n]
	return order.Uint32(part[4:]) == crc32.Checksum(b, table) && json.Unmarshal(b, v) == nil
}
