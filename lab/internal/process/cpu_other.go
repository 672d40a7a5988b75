//go:build !unix

package process

import "time"

// CPUTime is not known here: the table has a dash.
func CPUTime() time.Duration { return 0 }

// Switches is not known here.
func Switches() int64 { return 0 }
