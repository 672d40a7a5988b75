// Package analysis reads an execution trace of package runtime/trace and says what the goroutines of a request did in it.
package analysis
