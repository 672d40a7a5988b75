// Package viewers writes recorded sessions and single requests as files for the Firefox Profiler,
// Perfetto and speedscope, and requests for receivers of OTLP.
//
//	session, err := recorder.Stop(ctx, id)   // of profiling/sessions
//	…
//	err = viewers.WriteFirefox(file, session)      // for profiler.firefox.com and ui.perfetto.dev
//	err = viewers.WriteSpeedscope(file, session)   // for speedscope.app
//	err = viewers.WriteRequestPerfetto(file, request, session.Trace())
//
// # Guarantees
//
//   - The same session or request always makes the same file.
//   - Sessions stream into their files. Memory grows with the different texts, functions and
//     stacks, not with the number of events and samples. A request is in memory as a whole.
//   - Functions return the first error of the writer, and stop there.
//   - A file is valid JSON in UTF-8. Except in OTLP, texts from outside are cut at 1000 bytes.
//     Bytes that are not UTF-8 become U+FFFD.
//   - A file with samples contains [profiles.HiddenNote], if some functions are hidden.
//   - Functions may be called concurrently, also for the same session.
//
// # Limitations
//
//   - A file contains its whole session: there is no filter by time.
//   - Speedscope files lack marks, because speedscope shows nothing without a duration.
package viewers
