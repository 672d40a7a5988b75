//go:build go1.26 && !go1.27 && !perfline_portable && (amd64 || arm64)

package labels

// goroutine tells goroutines that live apart: it is the address of the runtime's g. Go
// has no other way to tell who ends a span, which is what decides what its labels
// mean to those that still have them.
func goroutine() uintptr
