package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// delayed returns how long the service's threads have waited for a processor that the kernel gave
// to others. Threads of the same process count as others, too, where the runtime has more of them
// than there are processors. Added is how long the hypervisor has run other machines in place of
// this one.
//
// Where a limit stops threads, the kernel counts them as waiting, too. There, delayed returns the
// time in which other programs must have had all processors: in which none was idle, and the
// service did not run.
func (c *child) delayed() time.Duration {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.command.Process.Pid))
	if err != nil {
		return 0
	}
	stat, _ := os.ReadFile("/proc/stat") // without it, no time is known to be stolen
	idle, stolen := unused(string(stat))
	var ran, waited time.Duration // 0 where the kernel does not count
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		var r, w time.Duration
		if _, err := fmt.Sscan(string(text), &r, &w); err == nil {
			ran, waited = ran+r, waited+w
		}
	}
	if c.limited {
		return time.Since(c.began) - idle - ran
	}
	return stolen + waited
}

// unused returns the time of all processors together in which they were idle, and the time that the
// hypervisor gave to others, from the first line of /proc/stat.
func unused(stat string) (idle, stolen time.Duration) {
	line, _, _ := strings.Cut(stat, "\n")
	var user, nice, system, none, iowait, irq, softirq, steal int64 // in hundredths of a second
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &none,
		&iowait, &irq, &softirq, &steal); err != nil {
		return 0, 0 // the kernel is older than the figures
	}
	return time.Duration(none+iowait) * 10 * time.Millisecond,
		time.Duration(steal) * 10 * time.Millisecond
}
