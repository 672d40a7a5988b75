//go:build go1.26 && !go1.27 && !perfline_portable && (linux || darwin)

package cpuprof

import "unsafe"

// The runtime keeps these for those who link to them, see its cpuprof.go, symtab.go
// and proflabel.go.

// readProfile returns whole records and a tag for each, both valid until it is called
// again; or eof when the rate was set to 0 and nothing is left. On linux it sleeps
// until the log is half full, if it is empty; on darwin it never does. Only the log's
// owner may call it.
//
//go:linkname readProfile runtime/pprof.readProfile
func readProfile() (data []uint64, tags []unsafe.Pointer, eof bool)

// expandFinalInlineFrame adds the callers of the last frame that were inlined with it.
//
//go:linkname expandFinalInlineFrame runtime/pprof.runtime_expandFinalInlineFrame
func expandFinalInlineFrame(stack []uintptr) []uintptr

// goroutineLabels and setGoroutineLabels are the calling goroutine's.
//
//go:linkname goroutineLabels runtime/pprof.runtime_getProfLabel
func goroutineLabels() unsafe.Pointer

//go:linkname setGoroutineLabels runtime/pprof.runtime_setProfLabel
func setGoroutineLabels(unsafe.Pointer)
