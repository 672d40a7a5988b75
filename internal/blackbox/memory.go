package blackbox

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// Memory describes the memory of a control group. 0 means unknown.
type Memory struct {
	Used  uint64 `json:"used,omitempty"`  // bytes
	Limit uint64 `json:"limit,omitempty"` // bytes; 0 also without a limit
	Kills uint64 `json:"kills,omitempty"` // processes that the kernel killed at the limit so far
}

// memoryGroup returns the folder of the process's control group for memory, without the leading
// slash, or "". root is the root of the file system.
func memoryGroup(root fs.FS) string {
	for line := range strings.Lines(textOf(root, "proc/self/cgroup")) { // id:controllers:path
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || !fs.ValidPath(strings.Trim(fields[2], "/")) && fields[2] != "/" {
			continue
		}
		top := "sys/fs/cgroup"
		switch {
		case fields[1] == "": // version 2
		case strings.Contains(","+fields[1]+",", ",memory,"):
			top = "sys/fs/cgroup/memory"
		default:
			continue
		}
		// without a namespace for groups, a container sees its own group at the top
		for _, folder := range []string{path.Join(top, fields[2]), top} {
			if readMemory(root, folder) != (Memory{}) {
				return folder
			}
		}
	}
	return ""
}

// readMemory reads the state of a control group.
func readMemory(root fs.FS, folder string) (m Memory) {
	if folder == "" {
		return m
	}
	number := func(name string) uint64 {
		n, _ := strconv.ParseUint(strings.TrimSpace(textOf(root, path.Join(folder, name))), 10, 64)
		return n
	}
	m.Used, m.Limit = number("memory.current"), number("memory.max")
	events := "memory.events.local" // without the groups below
	if textOf(root, path.Join(folder, events)) == "" {
		events = "memory.events" // before Linux 5.2
	}
	if m.Used == 0 { // version 1
		m.Used, m.Limit = number("memory.usage_in_bytes"), number("memory.limit_in_bytes")
		events = "memory.oom_control"
	}
	if m.Limit > math.MaxInt64/2 { // version 1 without a limit
		m.Limit = 0
	}
	for line := range strings.Lines(textOf(root, path.Join(folder, events))) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == "oom_kill" {
			m.Kills, _ = strconv.ParseUint(value, 10, 64)
		}
	}
	return m
}

// textOf returns a file's text, or "" if the file is not readable.
func textOf(root fs.FS, name string) string {
	text, _ := fs.ReadFile(root, name)
	return string(text)
}
