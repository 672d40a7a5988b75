//go:build !linux

package main

import "time"

// delayed is known on Linux only.
func (c *child) delayed() time.Duration { return 0 }
