//go:build !go1.28 && !perfline_portable

package goruntime

import "unsafe"

// GoroutineProfile fills both slices with the stacks and the label pointers of all n goroutines.
// The calling goroutine is the first goroutine. Both slices must have the same length. If the
// slices are too short, GoroutineProfile returns false and fills no element. The profile omits the
// goroutines of the runtime. The runtime allocates each stack. Call GoroutineProfile only if
// [CheckGoroutineProfile] returned nil.
//
// A new release of Go may remove the symbol. Before you raise the bound above for a new release,
// check the symbol, the signature and profilerecord.StackRecord.
//
//go:linkname GoroutineProfile runtime.pprof_goroutineProfileWithLabels
func GoroutineProfile(records []StackRecord, labels []unsafe.Pointer) (n int, ok bool)

const hasGoroutineProfile = true
