// Package waiting has what perfline's pages, files and exporters need of the results of package
// waits, and users do not: classes of kinds for pictures, attributes of spans, the functions of
// intervals, and the comparison with a profile. It is apart so that package waits is data only.
package waiting
