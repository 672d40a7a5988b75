package blackbox

import (
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/perfline/perfline/internal/cgroup"
)

// Memory describes the memory of a control group. 0 means unknown.
type Memory struct {
	Used  uint64 `json:"used,omitempty"`  // bytes
	Limit uint64 `json:"limit,omitempty"` // bytes; 0 also without a limit
	Kills uint64 `json:"kills,omitempty"` // processes that the kernel killed at the limit so far
}

// memoryGroup returns the folder of the control group that has the process's memory, without the
// leading slash, or "". root is the root of the file system.
func memoryGroup(root fs.FS) string {
	for _, g := range cgroup.Of(root, "memory") {
		if readMemory(root, g.Folder) != (Memory{}) {
			return g.Folder
		}
	}
	return ""
}

// readMemory reads the state of a control group.
func readMemory(root fs.FS, folder string) (m Memory) {
	if folder == "" {
		return m
	}
	g := cgroup.Group{Folder: folder}
	number := func(file string) uint64 {
		n, _ := strconv.ParseUint(strings.TrimSpace(g.Read(root, file)), 10, 64)
		return n
	}
	m.Used, m.Limit = number("memory.current"), number("memory.max")
	events := "memory.events.local" // without the groups below
	if g.Read(root, events) == "" {
		events = "memory.events" // before Linux 5.2
	}
	if m.Used == 0 { // version 1
		m.Used, m.Limit = number("memory.usage_in_bytes"), number("memory.limit_in_bytes")
		events = "memory.oom_control"
	}
	if m.Limit > math.MaxInt64/2 { // version 1 without a limit
		m.Limit = 0
	}
	m.Kills = g.Count(root, events, "oom_kill")
	return m
}
