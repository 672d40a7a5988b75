// Package waiting interprets the results of package waits for perfline's pages, files and
// exporters: classes of kinds for pictures, attributes of spans, functions of intervals, and the
// comparison with a profile. Users need only the data in package waits.
package waiting
