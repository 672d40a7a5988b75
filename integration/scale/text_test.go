package main

import (
	"strings"
	"testing"
	"time"
)

func TestFleetText(t *testing.T) {
	thousand := options{services: 1000, rate: 1000}
	for _, test := range []struct {
		name string
		of   options
		line string
	}{
		{"spans", thousand, "| spans/s | 3 000 000 | 300 000 | 30 000 | × share × spans a request |"},
		{"one Tempo", options{services: 20, rate: 1000}, "| Tempo as one process is enough | no | yes | yes | up to 25 MB/s and 55 000 spans/s |"},
		{"the tier in front, which was not measured", thousand, "| tail sampling: Collectors that find the right one | at least 10 | estimated:"},
		{"profiles", thousand, "| profiles: bytes/s on the wire | 2.0 MB |"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if text := fleetText(test.of, figures); !strings.Contains(text, test.line) {
				t.Errorf("there is no\n%s\nin\n%s", test.line, text)
			}
		})
	}
}

// The fleet is computed from the shop's requests and from the Collector's highest rate.
func TestFiguresOf(t *testing.T) {
	receiver := &target{held: []carried{{rate: 10, cpu: 9}, {rate: 30, cpu: 7}, {rate: 20, cpu: 8}}}
	sh := shopped{
		length: 50 * time.Second, interval: 15 * time.Second, profiles: 24, profileWire: 11, profileStored: 12,
		requestSpans: 7, requestWire: 1800, compressed: 0.2,
	}
	want := measured{
		spans: 7, wire: 1800, gzip: 360, collectorCPU: 7, inMemory: 500, onDisk: 700,
		profiles: 0.4, profileWire: 11, profileStored: 12,
	}
	if got := figuresOf(receiver, sh, 500, 700); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
