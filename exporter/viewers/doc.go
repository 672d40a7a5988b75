// Package viewers writes recorded sessions as files for the Firefox Profiler, Perfetto and
// speedscope.
//
//	session, err := recorder.Stop(ctx, id)   // of profiling/sessions
//	…
//	err = viewers.WriteFirefox(file, session)      // for profiler.firefox.com and ui.perfetto.dev
//	err = viewers.WriteSpeedscope(file, session)   // for speedscope.app
//
// # Guarantees
//
//   - The same session always makes the same file.
//   - The functions write while they read. Their memory is for the different texts, functions
//     and stacks, and does not grow with the number of events and samples.
//   - They return the first error of the writer, and stop there.
//   - A file is valid JSON in UTF-8 for every session: texts from outside are cut at 1000 bytes,
//     and bytes that are not UTF-8 become U+FFFD.
//   - Functions may be called concurrently, also for the same session.
//
// # Limitations
//
//   - A file has all of a session: there is no filter by time or by request.
//   - Speedscope files have no marks, since speedscope shows nothing that takes no time.
package viewers
