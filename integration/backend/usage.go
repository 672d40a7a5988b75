package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Usage is what a server's process has used, as Linux tells it.
type Usage struct {
	CPU  time.Duration // user and kernel mode, since it was started; in steps of 10 ms
	Peak uint64        // bytes of memory, at most since it was started or ResetPeak was called
}

// Usage tells what the process has used. It is an error when it does not run, or not on
// Linux.
func (s *server) Usage() (u Usage, err error) {
	status, err := s.procFile("status")
	if err != nil {
		return u, err
	}
	if u.CPU, err = ProcessCPU(s.proc.cmd.Process.Pid); err != nil {
		return u, err
	}
	if u.Peak, err = sizeOfStatus(status, "VmHWM"); err != nil {
		return u, fmt.Errorf("%s's memory: %w", s.name, err)
	}
	return u, nil
}

// ProcessCPU is the CPU time of a process until now, of user and kernel mode, in steps of 10 ms.
// It is an error when the process does not run, or not on Linux.
func ProcessCPU(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	used, err := cpuOfStat(string(stat))
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return used, nil
}

// ProcessMemory is the resident memory of a process in bytes. It is an error when the process does
// not run, or not on Linux.
func ProcessMemory(pid int) (uint64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return sizeOfStatus(string(status), "VmRSS")
}

// ResetPeak makes Usage's peak count from now on.
func (s *server) ResetPeak() error {
	if s.proc == nil || s.proc.ended() {
		return fmt.Errorf("%s does not run", s.name)
	}
	return os.WriteFile(s.procPath("clear_refs"), []byte("5"), 0o200)
}

// Stored is how many bytes the files of the server's folder have.
func (s *server) Stored() (bytes int64, err error) {
	err = filepath.WalkDir(s.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server has removed it meanwhile
		}
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

func (s *server) procPath(name string) string {
	return fmt.Sprintf("/proc/%d/%s", s.proc.cmd.Process.Pid, name)
}

func (s *server) procFile(name string) (string, error) {
	if s.proc == nil || s.proc.ended() {
		return "", fmt.Errorf("%s does not run", s.name)
	}
	text, err := os.ReadFile(s.procPath(name))
	return string(text), err
}

// cpuOfStat reads utime and stime, the fields 14 and 15 of /proc/PID/stat (proc(5)), which
// are in ticks: 100 a second on every architecture that Go runs on.
func cpuOfStat(stat string) (time.Duration, error) {
	// The second field is the program's name in parentheses, which may hold any others.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%q has too few fields", stat)
	}
	var ticks uint64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// sizeOfStatus reads a size of /proc/PID/status, such as VmHWM, which is in KiB there.
func sizeOfStatus(status, name string) (uint64, error) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("there is no %s", name)
}
