// Package goruntime holds perfline's links to symbols of the Go runtime, and all its assembler.
//
//	name here               symbol                                    promised
//	Labels, SetLabels       runtime/pprof.runtime_{get,set}ProfLabel  yes
//	ReadProfile             runtime/pprof.readProfile                 yes
//	ExpandFinalInlineFrame  runtime/pprof.runtime_expandFinalInline…  yes
//	FrameName               runtime/pprof.runtime_FrameSymbolName     yes
//	FrameStartLine          runtime/pprof.runtime_FrameStartLine      yes
//	Nanotime                runtime.nanotime                          yes
//	GoroutineProfile        runtime.pprof_goroutineProfileWithLabels  no
//
// For a promised symbol, the runtime's source says "Do not remove or change the type signature"
// (go.dev/issue/67401). Such a symbol has no gate by Go version. A release without the last symbol
// would break the build of a user's program, so goroutineprofile_link.go names the releases that
// have the symbol.
//
// # Checks
//
// A symbol that links may still behave differently in a later release. So each user of this package
// runs a check before the first use of a symbol, and takes a portable way when the check fails:
//
//   - [CheckLabels] checks the memory layout of a goroutine's labels.
//   - [CheckGoroutineProfile] checks the records of a goroutine profile.
//   - Package cpuprof checks the log of CPU samples, because the check must own the CPU profiler.
//   - [GoroutineID] searches for its offset, and returns 0 without one.
//
// # The portable build
//
// The build tag perfline_portable leaves out all symbols but [Labels] and [SetLabels], and all
// checks return an error. The tag is for a Go release that breaks a build here, and for tests of
// the portable ways.
package goruntime
