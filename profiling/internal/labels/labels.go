// Package labels ties spans to goroutines through the runtime's profiler labels.
package labels

// A Label is a profiler label, with the layout that the runtime's have.
type Label struct{ Key, Value string }
