// Package viewers holds the tests that perfline's files open in the programs they are made for,
// and show there what was recorded:
//
//   - the Firefox Profiler's format in that project's own command line, which brings the file to
//     the version of today and answers questions about it with the viewer's code;
//   - speedscope's in speedscope's published schema, and in speedscope itself in a browser;
//   - OTLP's JSON encoding in the code of a Collector;
//   - pprof's in go tool pprof, and the trace's JSON in the types of its specification.
//
// Perfetto publishes nothing for node or Debian that reads markers or trace events: what its
// importers ask of a file is tested in package internal/viewers.
package viewers
