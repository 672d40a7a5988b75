package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// delayed returns how long the service's threads have waited for a processor that the kernel gave to others. Threads of the same process
// count as others, too, where the runtime has more of them than there are processors. Added is how long the hypervisor has run
// other machines in place of this one.
func (c *child) delayed() time.Duration {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.command.Process.Pid))
	if err != nil {
		return 0
	}
	stat, _ := os.ReadFile("/proc/stat") // without it, no time is known to be stolen
	total := stolen(string(stat))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		var ran, waited time.Duration
		if _, err := fmt.Sscan(string(text), &ran, &waited); err == nil { // 0 where the kernel does not count
			total += waited
		}
	}
	return total
}

// stolen returns the time of all processors together that the hypervisor gave to others, from the first line of /proc/stat.
func stolen(stat string) time.Duration {
	line, _, _ := strings.Cut(stat, "\n")
	var user, nice, system, idle, iowait, irq, softirq, steal int64 // in hundredths of a second
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal); err != nil {
		return 0 // the kernel is older than the figure
	}
	return time.Duration(steal) * 10 * time.Millisecond
}
