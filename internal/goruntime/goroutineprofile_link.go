//go:build !go1.28 && !perfline_portable

package goruntime

import "unsafe"

// GoroutineProfile fills both slices, which have the same length, with the stacks and the label
// pointers of all n goroutines, the caller's first. GoroutineProfile returns false and fills
// nothing for slices that are too short. The profile omits the runtime's own goroutines, and
// allocates each stack. Call GoroutineProfile only if [CheckGoroutineProfile] returned nil.
//
// The runtime does not promise to keep this symbol. Raise the bound above when a new release has
// the symbol, with the same signature and the same profilerecord.StackRecord.
//
//go:linkname GoroutineProfile runtime.pprof_goroutineProfileWithLabels
func GoroutineProfile(records []StackRecord, labels []unsafe.Pointer) (n int, ok bool)

const hasGoroutineProfile = true
