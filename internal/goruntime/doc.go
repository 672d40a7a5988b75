// Package goruntime holds every symbol of the Go runtime that perfline links to, and
// all of its assembler.
//
// # Which symbols
//
//	name here               symbol                                    kept by the runtime
//	Labels, SetLabels       runtime/pprof.runtime_{get,set}ProfLabel  yes
//	ReadProfile             runtime/pprof.readProfile                 yes
//	ExpandFinalInlineFrame  runtime/pprof.runtime_expandFinalInline…  yes
//	FrameName               runtime/pprof.runtime_FrameSymbolName     yes
//	FrameStartLine          runtime/pprof.runtime_FrameStartLine      yes
//	Nanotime                runtime.nanotime                          yes
//	GoroutineProfile        runtime.pprof_goroutineProfileWithLabels  no
//
// "Kept" means that the runtime's source says "Do not remove or change the type
// signature" (go.dev/issue/67401). Such a symbol has no gate by Go version. The last one
// has no such promise. A release without it would break the build of a user's program,
// so goroutineprofile_link.go names the releases that have it.
//
// # What is checked
//
// A symbol that links may still behave differently in a later release. So each user of
// this package runs a check before it uses the runtime for the first time, and takes a
// portable way when the check fails:
//
//   - [CheckLabels]: the memory layout of a goroutine's labels
//   - [CheckGoroutineProfile]: the records of a goroutine profile
//   - the log of CPU samples: package cpuprof, which has to own the CPU profiler for it
//   - [GoroutineID] looks for its offset, and returns 0 if it finds none
//
// # Without it
//
// The build tag perfline_portable leaves out everything but [Labels] and [SetLabels]. All
// checks then return an error. The tag is for a Go release that breaks a build here, and
// for tests of the portable ways.
package goruntime
