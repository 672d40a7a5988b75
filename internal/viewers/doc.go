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
//   - Files of sessions are written while the session is read. The memory is for the different
//     texts, functions and stacks, and does not grow with the number of events and samples. A
//     request is in memory as a whole.
//   - They return the first error of the writer, and stop there.
//   - A file is valid JSON in UTF-8: texts from outside are cut at 1000 bytes, but not in OTLP, and
//     bytes that are not UTF-8 become U+FFFD.
//   - A file with samples has [profile.Trace.HiddenNote], if some functions are hidden.
//   - Functions may be called concurrently, also for the same session.
//
// # Limitations
//
//   - A file of a session has all of it: there is no filter by time.
//   - Speedscope files have no marks, since speedscope shows nothing that takes no time.
package viewers
