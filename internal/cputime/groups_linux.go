package cputime

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A group is a control group that limits the CPU time of the process: its own group or a group
// above, such as a pod's.
type group struct {
	folder     string // without the leading slash
	version2   bool
	processors float64
	throttled  time.Duration // at the last Read
}

func limitedGroups(root fs.FS) (all []group) {
	own := textOf(root, "proc/self/cgroup")
	for line := range strings.Lines(textOf(root, "proc/self/mountinfo")) {
		// Fields of proc_pid_mountinfo(5): id, parent, device, root, mount point, options, optional
		// fields, "-", type, source, options of the file system.
		before, after, ok := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 5 || len(system) < 3 {
			continue
		}
		version2 := system[0] == "cgroup2"
		if !version2 && (system[0] != "cgroup" || !lists(system[2], "cpu")) {
			continue
		}
		within, ok := groupOf(own, version2)
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
			g := group{folder: folder, version2: version2}
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
func groupOf(own string, version2 bool) (path string, ok bool) {
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if version2 && fields[1] == "" || !version2 && lists(fields[1], "cpu") {
			return fields[2], true
		}
	}
	return "", false
}

func lists(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }

// limit returns the number of processors that the group may use, or 0 without a limit.
func (g *group) limit(root fs.FS) float64 {
	var quota, period string
	if g.version2 {
		quota, period, _ = strings.Cut(textOf(root, path.Join(g.folder, "cpu.max")), " ")
	} else {
		quota = textOf(root, path.Join(g.folder, "cpu.cfs_quota_us"))
		period = textOf(root, path.Join(g.folder, "cpu.cfs_period_us"))
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(quota), 64) // "max" or -1 without a limit
	p, wrong := strconv.ParseFloat(strings.TrimSpace(period), 64)
	if err != nil || wrong != nil || q <= 0 || p <= 0 {
		return 0
	}
	return q / p
}

// readThrottled returns the time for which the limit stopped threads of the group.
func (g *group) readThrottled(root fs.FS) time.Duration {
	name, unit := "throttled_time", time.Nanosecond
	if g.version2 {
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

// textOf returns a file's text, or "" if the file is not readable.
func textOf(root fs.FS, name string) string {
	text, _ := fs.ReadFile(root, name)
	return string(text)
}
