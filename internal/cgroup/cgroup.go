// Package cgroup finds the control groups of the process and reads their files.
package cgroup

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Group is a control group.
type Group struct {
	Folder   string // below the root of the file system, without the leading slash
	Version2 bool
}

// Of returns the groups of the process for a controller, such as "cpu": its own group and the
// groups above, such as a pod's, as far as the process sees them. A machine may have groups of
// both versions. root is the root of the file system.
func Of(root fs.FS, controller string) (all []Group) {
	own := text(root, "proc/self/cgroup")
	for line := range strings.Lines(text(root, "proc/self/mountinfo")) {
		// Fields of proc_pid_mountinfo(5): id, parent, device, root, mount point, options, optional
		// fields, "-", type, source, options of the file system.
		before, after, ok := strings.Cut(line, " - ")
		mount, system := strings.Fields(before), strings.Fields(after)
		if !ok || len(mount) < 5 || len(system) < 3 {
			continue
		}
		version2 := system[0] == "cgroup2"
		if !version2 && (system[0] != "cgroup" || !lists(system[2], controller)) {
			continue
		}
		within, ok := within(own, version2, controller)
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
			all = append(all, Group{folder, version2})
			if folder == top || len(folder) <= len(top) {
				break
			}
		}
	}
	return all
}

// within returns the path of the process's group. own is the text of /proc/self/cgroup: each line
// is id:controllers:path.
func within(own string, version2 bool, controller string) (path string, ok bool) {
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if version2 && fields[1] == "" || !version2 && lists(fields[1], controller) {
			return fields[2], true
		}
	}
	return "", false
}

func lists(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }

// Read returns the text of one of the group's files, or "" if the file is not readable.
func (g Group) Read(root fs.FS, file string) string { return text(root, path.Join(g.Folder, file)) }

// Count returns the number of a line "key number" in one of the group's files, or 0.
func (g Group) Count(root fs.FS, file, key string) uint64 {
	for line := range strings.Lines(g.Read(root, file)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == key {
			n, _ := strconv.ParseUint(value, 10, 64)
			return n
		}
	}
	return 0
}

func text(root fs.FS, file string) string {
	b, _ := fs.ReadFile(root, file)
	return string(b)
}
