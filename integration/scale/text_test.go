package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// curveOf is a curve as if all ways had been measured at 100 and 200 requests/s, where
// otelhttp + SDK did not hold the second.
func curveOf() *curve {
	c := &curve{rate: 200}
	cpu := map[trial.Telemetry]time.Duration{trial.None: 100_000, trial.Perfline: 120_000, trial.OpenTelemetry: 180_000}
	add := func(w way, procs int) *subject {
		s := &subject{way: w, procs: procs, samples: map[int][]sample{}}
		for _, rate := range []int{100, 200} {
			m := sample{rate: rate, p99: 3 * time.Millisecond, cpu: cpu[w.telemetry], wire: 700 * float64(w.spans), spans: float64(w.spans)}
			if w.telemetry == trial.OpenTelemetry && rate == 200 {
				m.lost = 5
				s.failed = m
			}
			s.samples[rate] = append(s.samples[rate], m)
		}
		c.subjects = append(c.subjects, s)
		return s
	}
	for _, procs := range processors(runtime.NumCPU()) {
		for _, w := range curveWays {
			s := add(w, procs)
			s.search = newSearch(lowest, 200, 0)
			follow(s.search, map[bool]float64{true: 100, false: 200}[w.telemetry == trial.OpenTelemetry])
		}
	}
	for _, w := range furtherWays {
		add(w, runtime.NumCPU())
	}
	return c
}

func TestTables(t *testing.T) {
	c := curveOf()
	procs := runtime.NumCPU()
	m, noDifference := figures, figures
	noDifference.with, noDifference.unsampled = m.without-1, m.without-1
	for _, test := range []struct{ name, text, line string }{
		{"the highest rate", c.highestTable().String(), fmt.Sprintf("| %d, perfline | 200 | 1.00 × | nothing: no higher rate was tried | 0.0 µs | 3.0 ms | 120 µs | 2 100 | 3 |", procs)},
		{"the highest rate, with one that was not held", c.highestTable().String(), fmt.Sprintf("| %d, otelhttp + SDK | 100 | 0.50 × | 5 spans lost | 0.0 µs | 3.0 ms | 180 µs | 2 100 | 3 |", procs)},
		{"a rate that all held", c.ratesTable().String(), fmt.Sprintf("| %d, 100 | 3.0 ms | 3.0 ms | 3.0 ms | 100 µs | 120 µs | 180 µs | 20 µs | 0.25 × |", procs)},
		{"a rate that one did not hold", c.ratesTable().String(), fmt.Sprintf("| %d, 200 | 3.0 ms | 3.0 ms | – | 100 µs | 120 µs | – | – | – |", procs)},
		{"all ways at one rate", c.waysTable().String(), "| perfline, gzip | 0.0 µs | 3.0 ms | 120 µs | 1.20 × | 0 B | 2 100 | 3 | 0 |"},
		{"spans of the fleet", fleetText(options{services: 1000, rate: 1000}, m), "| spans/s | 3 000 000 | 300 000 | 30 000 | × share × spans a request |"},
		{"cores of the fleet", fleetText(options{services: 1000, rate: 1000}, m), "| cores for perfline in all services | 50 | 14 | 10 |"},
		{"cores of the fleet, when there is no difference", fleetText(options{services: 1000, rate: 1000}, noDifference), "| not measurable | not measurable | not measurable | requests/s × (CPU"},
		{"one Tempo", fleetText(options{services: 20, rate: 1000}, m), "| Tempo as one process is enough | no | yes | yes | up to 25 MB/s and 55 000 spans/s |"},
		{"the tier in front, which was not measured", fleetText(options{services: 1000, rate: 1000}, m), "| tail sampling: Collectors that find the right one | at least 10 | estimated:"},
		{"profiles of the fleet", fleetText(options{services: 1000, rate: 1000}, m), "| profiles: bytes/s on the wire | 2.0 MB |"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(test.text, test.line) {
				t.Errorf("there is no\n%s\nin\n%s", test.line, test.text)
			}
		})
	}
}

// The fleet is computed of the right rows.
func TestMeasuredOfTheCurve(t *testing.T) {
	c := curveOf()
	c.find("perfline, nothing sampled", runtime.NumCPU()).samples[200][0].cpu = 105_000
	c.find("perfline, gzip", runtime.NumCPU()).samples[200][0].wire = 90
	receiver := &target{held: []carried{{rate: 10, cpu: 9}, {rate: 30, cpu: 7}, {rate: 20, cpu: 8}}}
	sh := shopped{length: 50 * time.Second, interval: 15 * time.Second, profiles: 24, profileWire: 11, profileStored: 12}
	want := measured{
		spans: 3, without: 100_000, with: 120_000, unsampled: 105_000, wire: 2100, gzip: 90,
		collectorCPU: 7, profiles: 0.4, profileWire: 11, profileStored: 12,
	}
	if got := c.measured(receiver, sh); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDraw(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scale.svg")
	if err := curveOf().draw(path); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"perfline, GOMAXPROCS=1", "p99 since the request was due, ms", "CPU of the service a request, µs", "requests/s"} {
		if !strings.Contains(string(svg), text) {
			t.Errorf("the picture does not say %q", text)
		}
	}
}

func TestTicks(t *testing.T) {
	var got []string
	for _, tick := range doublings(0.5, 100) {
		got = append(got, tick.Label)
	}
	if want := []string{"0.5", "1", "2", "5", "10", "20", "50", "100"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
