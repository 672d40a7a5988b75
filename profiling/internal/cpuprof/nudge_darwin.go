package cpuprof

import "time"

// sleeps reports whether readProfile sleeps while the log is empty.
const sleeps = false

// nudge does nothing: reads do not sleep.
func nudge() error { return nil }

// tick returns the interval at which the kernel checks whether the process has used up its timer.
func tick() time.Duration { return usualTick }
