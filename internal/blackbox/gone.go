package blackbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/record/mirror"
)

// A File is the file of a process that is gone. The caller holds the file locked until Close or
// Remove, so no other process reports it.
type File struct {
	name string
	file *os.File
}

// Find returns the names of the files in a directory that look like boxes, also of living
// processes. The newest file is the first one.
func Find(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	type found struct {
		name string
		at   time.Time
	}
	var all []found
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && isBox(e.Name()) {
			all = append(all, found{filepath.Join(dir, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(b.at.Compare(a.at), strings.Compare(a.name, b.name))
	})
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	return names, nil
}

// isBox reports whether a file has the name of a box.
func isBox(name string) bool {
	base, ok := strings.CutSuffix(name, boxSuffix)
	base, ok2 := strings.CutPrefix(base, prefix)
	pid, random, ok3 := strings.Cut(base, "-")
	_, err := strconv.ParseUint(pid, 10, 64)
	_, err2 := strconv.ParseUint(random, 16, 64)
	return ok && ok2 && ok3 && err == nil && err2 == nil
}

// Take locks the file of a process that is gone. Take returns nil if a living process has the file,
// if another process reports it now, or if it is gone.
func Take(name string) (*File, error) {
	f, err := open(name)
	if errors.Is(err, errLiving) || errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is nothing to take
	}
	if err != nil {
		return nil, err
	}
	return &File{name, f}, nil
}

// Read reads the file and the files beside it.
func (f *File) Read() (*Death, error) {
	base := strings.TrimSuffix(f.name, boxSuffix)
	d, err := read(f.file, base+crashSuffix, base+exitSuffix,
		func(group string) Memory { return readMemory(os.DirFS("/"), group) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return d, nil
}

// Check returns an error unless the file is a black box of this version. Check reads only the
// facts.
func (f *File) Check() error {
	b := make([]byte, factsSize)
	n, err := f.file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if _, err = decodeFacts(b[:n]); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// Unfinished reports whether an error of Read or Check says that the process ended while it made
// the file.
func Unfinished(err error) bool { return errors.Is(err, errUnfinished) }

// Peek reads a file as [File.Read] does, and neither writes nor locks the file. Peek returns nil if
// a process holds the file: its process lives, or the next start reports the file now.
func Peek(name string) (*Death, error) {
	f, err := openUnlocked(name)
	if errors.Is(err, errLiving) {
		return nil, nil //nolint:nilnil // there is nothing to report
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return (&File{name, f}).Read()
}

// MarkTaken notes in the file that a backend has taken an item.
func (f *File) MarkTaken(it *mirror.Item) error {
	var b [1]byte
	if _, err := f.file.ReadAt(b[:], int64(it.Taken)); err != nil {
		return err
	}
	b[0] |= mirror.Taken
	_, err := f.file.WriteAt(b[:], int64(it.Taken))
	return err
}

// Close gives the file back.
func (f *File) Close() error { return f.file.Close() }

// Remove removes the file, and the files beside it.
func (f *File) Remove() error {
	return errors.Join(removeFiles(f.name), f.file.Close())
}

// removeFiles removes a file, and the files beside it.
func removeFiles(name string) error {
	base := strings.TrimSuffix(name, boxSuffix)
	err := os.Remove(name)
	for _, suffix := range []string{crashSuffix, exitSuffix} {
		if e := os.Remove(base + suffix); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// The note of a parent begins with exitSignal if a signal has ended the process, and ends with
// exitLimit if the signal came from the memory limit.
const (
	exitSignal = "signal"
	exitLimit  = ", at the memory limit"
)

// NoteExit notes beside the boxes of a process how the process ended. Only its parent knows. state
// is the text of an os.ProcessState, such as "exit status 3" or "signal: killed". earlier are the
// boxes that [Find] returned before the process started: a process may have the id of an earlier
// one.
func NoteExit(dir string, pid int, state string, earlier ...string) error {
	names, err := Find(dir)
	for _, name := range names {
		if slices.Contains(earlier, name) ||
			!strings.HasPrefix(filepath.Base(name), prefix+strconv.Itoa(pid)+"-") {
			continue
		}
		note := state
		// the next start of a container has another control group
		if d, e := Peek(name); e == nil && d != nil && d.Kind == MemoryLimit &&
			strings.HasPrefix(state, exitSignal) {
			note += exitLimit
		}
		base := strings.TrimSuffix(name, boxSuffix)
		err = errors.Join(err, os.WriteFile(base+exitSuffix, []byte(note+"\n"), 0o600))
	}
	return err
}
