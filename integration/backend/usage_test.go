package backend

import (
	"testing"
	"time"
)

func TestCPUOfStat(t *testing.T) {
	for _, c := range []struct {
		name, stat string
		want       time.Duration
		fails      bool
	}{
		{name: "plain", stat: "7 (jaeger) S 1 7 7 0 -1 4194560 9 0 0 0 150 50 3 4 20 0", want: 2 * time.Second},
		{name: "a name with blanks and parentheses", stat: "7 (a ) b) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 3 4 20 0", want: 30 * time.Millisecond},
		{name: "too short", stat: "7 (jaeger) S 1 7", fails: true},
		{name: "no number", stat: "7 (jaeger) S 1 7 7 0 -1 4194560 9 0 0 0 x 50 3 4 20 0", fails: true},
		{name: "empty", stat: "", fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := cpuOfStat(c.stat)
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("got %v and %v, want %v, failing %v", got, err, c.want, c.fails)
			}
		})
	}
}

func TestSizeOfStatus(t *testing.T) {
	for _, c := range []struct {
		name, status string
		want         uint64
		fails        bool
	}{
		{name: "among others", status: "Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t  12 kB\nVmRSS:\t  11 kB\n", want: 12 << 10},
		{name: "not there", status: "Name:\tx\n", fails: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := sizeOfStatus(c.status, "VmHWM")
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("got %v and %v, want %v, failing %v", got, err, c.want, c.fails)
			}
		})
	}
}
