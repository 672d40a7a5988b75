//go:build go1.28 || perfline_portable

package goruntime

import "unsafe"

func goroutineProfileWithLabels([]StackRecord, []unsafe.Pointer) (n int, ok bool) {
	return 0,
		false
}

const hasGoroutineProfile = false
