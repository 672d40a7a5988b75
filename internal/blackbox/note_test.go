package blackbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// writeBox writes the box of a process that is gone.
func writeBox(t *testing.T, dir string, n int, f Facts, s Status) string {
	t.Helper()
	b := make([]byte, size)
	f.Version = version
	copy(b, magic)
	copy(b[len(magic):], encode(f, factsSize-len(magic)))
	copy(b[statusAt:], encode(s, statusSize))
	name := filepath.Join(dir, fmt.Sprintf("%s%d-%08x%s", prefix, f.PID, n, boxSuffix))
	writeFile(t, name, string(b))
	return name
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func peek(t *testing.T, name string) *Death {
	t.Helper()
	d, err := Peek(name)
	if err != nil || d == nil {
		t.Fatal(d, err)
	}
	return d
}

// The parent's note concerns the boxes of its own child: an earlier process may have had the same id, as in a container.
func TestNoteExit(t *testing.T) {
	dir := t.TempDir()
	now := Status{Beat: 1, At: time.Now()}
	old := writeBox(t, dir, 1, Facts{PID: 7}, now)
	earlier, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	first, second := writeBox(t, dir, 2, Facts{PID: 7}, now), writeBox(t, dir, 3, Facts{PID: 7}, now)
	other := writeBox(t, dir, 4, Facts{PID: 77}, now)
	if err := NoteExit(dir, 7, "exit status 3", earlier...); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Kind{old: Gone, first: Exited, second: Exited, other: Gone} {
		if d := peek(t, name); d.Kind != want {
			t.Errorf("%s is %s (%s), want %s", filepath.Base(name), d.Kind, d.Exit, want)
		}
	}
	if err := NoteExit(filepath.Join(dir, "missing"), 7, ""); err == nil {
		t.Error("a note in no directory")
	}
}

// The parent knows whether the memory limit ended the process. The next start of a container has another control group, and another
// process at the limit.
func TestNoteOfMemoryLimit(t *testing.T) {
	group := t.TempDir()
	f := Facts{PID: 7, Group: strings.TrimPrefix(filepath.ToSlash(group), "/"), Boot: bootID()}
	kills := func(n int) {
		writeFile(t, filepath.Join(group, "memory.events"), fmt.Sprintf("oom 9\noom_kill %d\n", n))
	}
	writeFile(t, filepath.Join(group, "memory.current"), "1")
	for _, c := range []struct {
		name, state string
		after       int // kills when the process ended
		next        int // kills at the next start
		want        Kind
		note        string
	}{
		{"the limit", "signal: killed", 3, 0, MemoryLimit, "signal: killed, at the memory limit"},
		{"no limit", "signal: killed", 2, 0, Killed, "signal: killed"},
		{"exit beside another process at the limit", "exit status 3", 3, 3, Exited, "exit status 3"},
		{"no note", "", 2, 3, MemoryLimit, ""},
		{"neither", "", 2, 2, Gone, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := writeBox(t, dir, 1, f, Status{Beat: 1, At: time.Now(), Memory: Memory{Used: 1, Kills: 2}})
			kills(c.after)
			if c.state != "" {
				if err := NoteExit(dir, 7, c.state); err != nil {
					t.Fatal(err)
				}
			}
			kills(c.next)
			if d := peek(t, name); d.Kind != c.want || d.Exit != c.note {
				t.Errorf("%s (%s), want %s (%s)", d.Kind, d.Exit, c.want, c.note)
			}
		})
	}
}

// Kills of the groups below are no kills of the process.
func TestMemoryOfGroupsBelow(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{"memory.current": "1", "memory.events": "oom_kill 5\n", "memory.events.local": "oom_kill 1\n"} {
		writeFile(t, filepath.Join(dir, file), text)
	}
	if m := readMemory(os.DirFS(filepath.Dir(dir)), filepath.Base(dir)); m.Kills != 1 {
		t.Errorf("%d kills", m.Kills)
	}
}

// The group that has the memory of the process is its own one, or else the nearest above that counts it.
func TestMemoryGroup(t *testing.T) {
	const second, first = "30 23 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "32 24 0:29 / /cgroups/memory rw - cgroup cgroup rw,memory\n"
	for _, c := range []struct{ name, mounts, own, file, want string }{
		{"version 2", second, "0::/pod/app\n", "sys/fs/cgroup/pod/app/memory.current", "sys/fs/cgroup/pod/app"},
		{"version 2, counted above", second, "0::/pod/app\n", "sys/fs/cgroup/pod/memory.current", "sys/fs/cgroup/pod"},
		{"version 2, in a container", second, "0::/\n", "sys/fs/cgroup/memory.current", "sys/fs/cgroup"},
		{"version 1", first, "4:cpu:/other\n3:memory:/app\n", "cgroups/memory/app/memory.usage_in_bytes", "cgroups/memory/app"},
		{"version 1 for memory, beside version 2", second + first, "3:memory:/app\n0::/app\n", "cgroups/memory/app/memory.usage_in_bytes", "cgroups/memory/app"},
		{"none", second, "0::/app\n", "sys/fs/cgroup/app/cpu.max", ""},
	} {
		root := fstest.MapFS{"proc/self/mountinfo": {Data: []byte(c.mounts)}, "proc/self/cgroup": {Data: []byte(c.own)}, c.file: {Data: []byte("7\n")}}
		if got := memoryGroup(root); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// After a restart of the machine, the note of the parent still says how the process ended.
func TestKindAfterRestart(t *testing.T) {
	for exit, want := range map[string]Kind{"": Restarted, "exit status 3": Exited, "signal: killed": Killed} {
		d := &Death{Exit: exit, Facts: Facts{Boot: "one"}}
		if got := kindOf(d, Memory{Kills: 1}, "two"); got != want {
			t.Errorf("%q: %s, want %s", exit, got, want)
		}
	}
}

// A report needs no lock: the next start must get the file.
func TestPeek(t *testing.T) {
	dir := t.TempDir()
	b, err := Open(Config{Dir: dir, Self: func() uint64 { return 1 }, Failed: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Peek(b.Name()); d != nil || err != nil {
		t.Errorf("a living process: %v, %v", d, err)
	}
	defer b.Close() // the memory stays mapped, and the file locked
	gone := writeBox(t, dir, 1, Facts{PID: 7}, Status{Beat: 1, Ended: true})
	if d := peek(t, gone); d.Kind != Ended {
		t.Errorf("the kind is %s", d.Kind)
	}
	f, err := Take(gone)
	if err != nil || f == nil {
		t.Fatalf("the next start gets nothing: %v", err)
	}
	defer f.Close()
	if d, err := Peek(gone); d != nil || err != nil {
		t.Errorf("beside the next start: %v, %v", d, err)
	}
	if _, err := Peek(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing file was read")
	}
}
