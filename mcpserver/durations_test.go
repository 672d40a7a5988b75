package mcpserver

import (
	"testing"
	"time"
)

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]word{
		0: "0.00", 1: "0.00", -1: "0.00", 150: "0.0001", -150: "-0.0001", 999_999: "1.0000", time.Millisecond: "1.00", -time.Millisecond: "-1.00",
		12_345 * time.Microsecond: "12.3", 99_960 * time.Microsecond: "100.0", time.Second: "1000", time.Hour: "3600000",
	} {
		if got := ms(d); got != want {
			t.Errorf("%d ns are %s ms, want %s", d, got, want)
		}
	}
}
