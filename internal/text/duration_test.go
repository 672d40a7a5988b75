package text_test

import (
	"testing"
	"time"

	"github.com/perfline/perfline/internal/text"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0ns"},
		{999, "999ns"},
		{1500, "1.50µs"},
		{12_340_000, "12.3ms"},
		{-123_400_000, "-123ms"},
		{90 * time.Second, "90.0s"},
		{time.Hour, "3600s"},
	} {
		if got := text.Duration(c.d); got != c.want {
			t.Errorf("%d ns are %q, want %q", c.d, got, c.want)
		}
	}
}

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                        "0 µs",
		999 * time.Microsecond:   "999 µs",
		1500 * time.Microsecond:  "1.5 ms",
		12345 * time.Microsecond: "12 ms",
		1234 * time.Millisecond:  "1.2 s",
		83 * time.Second:         "83 s",
	} {
		if got := text.Length(d); got != want {
			t.Errorf("%d ns are %q, want %q", d, got, want)
		}
	}
}
