package cputime

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// A group is a control group that limits the CPU time of the process. The limit may be of a group
// above, as that of a pod.
type group struct {
	folder     string // without the slash in front
	second     bool   // it is of version 2
	processors float64
	throttled  time.Duration // when it was last read
}

// limits returns the groups with a limit, of both versions.
func limits(root fs.FS) (all []group) {
	own := textOf(root, "proc/self/cgroup")
	for line := range strings.Lines(textOf(root, "proc/self/mountinfo")) {
		// Fields of proc_pid_mountinfo(5): id, parent, device, root, mount point, options, optional
		// fields, "-", type, source, options of the file system.
		before, after, ok := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 5 || len(system) < 3 {
			continue
		}
		second := system[0] == "cgroup2"
		if !second && (system[0] != "cgroup" || !has(system[2], "cpu")) {
			continue
		}
		within, ok := groupOf(own, second)
		if !ok {
			continue
		}
		// Without a namespace for groups, a container's mount begins at the container's group.
		if rest, below := strings.CutPrefix(within, strings.TrimSuffix(mount[3], "/")); below &&
			(rest == "" || rest[0] == '/') {
			within = rest
		} else {
			within = ""
		}
		top := strings.TrimPrefix(path.Clean(mount[4]), "/")
		for folder := path.Join(top, path.Clean("/"+within)); ; folder = path.Dir(folder) {
			g := group{folder: folder, second: second}
			if g.processors = g.limit(root); g.processors > 0 {
				all = append(all, g)
			}
			if folder == top || len(folder) <= len(top) {
				break
			}
		}
	}
	return all
}

// groupOf returns the path of the process's group. own is the text of /proc/self/cgroup: each line
// is id:controllers:path.
func groupOf(own string, second bool) (within string, ok bool) {
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && (second && fields[1] == "" || !second && has(fields[1], "cpu")) {
			return fields[2], true
		}
	}
	return "", false
}

// has reports whether a list with commas has a word.
func has(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// limit returns how many processors the group may use, 0 without a limit.
func (g *group) limit(root fs.FS) float64 {
	var quota, period string
	if g.second {
		quota, period, _ = strings.Cut(textOf(root, path.Join(g.folder, "cpu.max")), " ")
	} else {
		quota, period = textOf(root, path.Join(g.folder, "cpu.cfs_quota_us")),
			textOf(root, path.Join(g.folder, "cpu.cfs_period_us"))
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(quota), 64) // "max" or -1 without a limit
	p, wrong := strconv.ParseFloat(strings.TrimSpace(period), 64)
	if err != nil || wrong != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}

// readThrottled returns for how long the limit has stopped threads of the group.
func (g *group) readThrottled(root fs.FS) time.Duration {
	name, unit := "throttled_time", time.Nanosecond
	if g.second {
		name, unit = "throttled_usec", time.Microsecond
	}
	for line := range strings.Lines(textOf(root, path.Join(g.folder, "cpu.stat"))) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == name {
			n, _ := strconv.ParseInt(value, 10, 64)
			return time.Duration(n) * unit
		}
	}
	return 0
}

// textOf returns a file's text, empty if the file cannot be read.
func textOf(root fs.FS, name string) string {
	text, _ := fs.ReadFile(root, name)
	return string(text)
}
