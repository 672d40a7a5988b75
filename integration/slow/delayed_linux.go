package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// delayed returns how long the service's threads have waited for a processor that the kernel gave to others. Threads of the
// same process count as others, too, where the runtime has more of them than there are processors.
func (c *child) delayed() (total time.Duration) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.command.Process.Pid))
	if err != nil {
		return 0
	}
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
