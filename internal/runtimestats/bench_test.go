package runtimestats_test

import (
	"testing"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/runtimestats"
)

// The first sample of a history costs more than the others, because the history and its memory are new.
func BenchmarkFirstSample(b *testing.B) {
	counts := make([]exporter.Count, 200) // about as many as a pipeline has
	taken := make(chan struct{})
	c := runtimestats.Config{Counts: func() []exporter.Count { return counts }, CPUTime: func() time.Duration {
		taken <- struct{}{}
		return 0
	}}
	b.ReportAllocs()
	for b.Loop() {
		h := runtimestats.Start(c)
		<-taken
		h.Stop()
	}
}
