//go:build !perfline_portable && (amd64 || arm64)

package goruntime

import "unsafe"

// getg returns the runtime's g of the calling goroutine.
func getg() unsafe.Pointer
