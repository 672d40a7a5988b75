package main

import (
	"math"
	"testing"
	"time"
)

var figures = measured{
	spans: 3, wire: 1000, gzip: 100, collectorCPU: 8 * time.Microsecond, inMemory: 500, onDisk: 700,
	profiles: 0.5, profileWire: 4000, profileStored: 1000,
}

func TestFleet(t *testing.T) {
	whole, tenth := fleet{1000, 1000, 1}, fleet{1000, 1000, 0.1}
	first, second := tenth.tailCollectors(figures)
	large := figures
	large.inMemory *= 3.2 // 96 GB at 8 GB each
	_, larger := whole.tailCollectors(large)
	for _, c := range []struct {
		name string
		f    fleet
		wire float64
		want bool
	}{
		{"one Tempo: 9 MB/s and 27 000 spans/s", fleet{9, 1000, 1}, 1000, true},
		{"one Tempo: 20 MB/s are few enough, 60 000 spans/s are not", fleet{20, 1000, 1}, 1000, false},
		{"one Tempo: 27 000 spans/s are few enough, 27 MB/s are not", fleet{9, 1000, 1}, 3000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := figures
			m.wire = c.wire
			if got := c.f.oneTempo(m); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"spans, all sampled", whole.spans(figures), 3e6},
		{"spans, a tenth sampled", tenth.spans(figures), 3e5},
		{"spans, nothing sampled", fleet{1000, 1000, 0}.spans(figures), 0},
		{"bytes, all sampled", whole.wire(figures), 1e9},
		{"bytes, a tenth sampled, compressed", tenth.gzip(figures), 1e7},
		{"Collectors: 24 cores, at 2.4 each", collectors(whole.spans(figures), figures), 10},
		{"Collectors for nothing", collectors(0, figures), 0},
		{"what waits for its tail does not depend on the head's share", tenth.tailMemory(figures), 3e6 * 10 * 500 * 2},
		{"traces that wait", tenth.tailTraces(), 1e7},
		{"the tier that finds the Collector", first, 10},
		{"the tier that decides: 30 GB at 8 GB each are fewer", second, 10},
		{"the tier that decides, of larger spans", larger, 12},
		{"a day", perDay(1), 86400},
		{"profiles", whole.profiles(figures), 500},
		{"replicas are whole", replicas(10.1, 10), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			if math.Abs(c.got-c.want) > 1e-9*math.Abs(c.want) {
				t.Errorf("got %v, want %v", c.got, c.want)
			}
		})
	}
}
