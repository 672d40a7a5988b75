package cpuprof

import "time"

// sleeps says that readProfile sleeps when there is nothing to read.
const sleeps = false

// nudge has nothing to do.
func nudge() error { return nil }

// tick is how often the kernel looks whether the process has used up its interval.
func tick() time.Duration { return usualTick }
