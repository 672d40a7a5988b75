package spanlabels

// WithPprof has spans labelled through runtime/pprof, as with a release of Go whose labels have another layout in
// memory, until restore is called.
func WithPprof() (restore func()) {
	known := layoutKnown
	layoutKnown = func() bool { return false }
	return func() {
		layoutKnown = known
		for i := range byTag {
			for j := range byTag[i] {
				byTag[i][j].Store(nil)
			}
		}
	}
}
