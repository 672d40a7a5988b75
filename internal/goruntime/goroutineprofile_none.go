//go:build go1.28 || perfline_portable

package goruntime

import "unsafe"

// GoroutineProfile returns false. This build does not link the goroutine profile of the runtime.
func GoroutineProfile([]StackRecord, []unsafe.Pointer) (n int, ok bool) { return 0, false }

const hasGoroutineProfile = false
