//go:build !go1.28 && !perfline_portable

package goruntime

import "unsafe"

// The runtime does not promise to keep this symbol. Raise the bound above when a new
// release has it, with the same signature and the same profilerecord.StackRecord.
//
//go:linkname goroutineProfileWithLabels runtime.pprof_goroutineProfileWithLabels
func goroutineProfileWithLabels(records []StackRecord, labels []unsafe.Pointer) (n int, ok bool)

const hasGoroutineProfile = true
