//go:build !linux

// Package cputime reads the CPU time of the process or of a thread. Functions return 0 on this
// system.
package cputime

import "time"

// Thread returns 0, because the CPU time is unknown on this system.
func Thread() time.Duration { return 0 }

// Process returns 0, because the CPU time is unknown on this system.
func Process() time.Duration { return 0 }

// A Meter reads the CPU usage of the process. On this system, the usage is unknown.
type Meter struct{}

// NewMeter returns a meter for the process.
func NewMeter() *Meter { return &Meter{} }

// Read returns the zero Usage, because the usage is unknown on this system.
func (*Meter) Read() Usage { return Usage{} }
