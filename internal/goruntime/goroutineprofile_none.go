//go:build go1.28 || perfline_portable

package goruntime

import "unsafe"

// GoroutineProfile returns false: this build has no link to the runtime's goroutine profile.
func GoroutineProfile([]StackRecord, []unsafe.Pointer) (n int, ok bool) { return 0, false }

const hasGoroutineProfile = false
