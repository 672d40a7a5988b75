package main

import (
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
	grid, explained := &table{}, &table{explained: true}
	for _, t := range []*table{grid, explained} {
		t.add("a", "b", "c")
		t.add("x", "1", "y")
	}
	for _, c := range []struct{ name, got, want string }{
		{"seconds", duration(1500 * time.Millisecond), "1.50 s"},
		{"many milliseconds", duration(123_456 * time.Microsecond), "123 ms"},
		{"milliseconds", duration(1234 * time.Microsecond), "1.2 ms"},
		{"microseconds", duration(123_400), "123 µs"},
		{"few microseconds", duration(5_250), "5.2 µs"},
		{"less than nothing", duration(-12_000), "-12 µs"},
		{"small numbers", number(2.96), "3"},
		{"small numbers with a digit", number(2.53), "2.5"},
		{"nothing", number(0), "0"},
		{"large numbers", number(1234567), "1 234 567"},
		{"thousands", number(1000), "1 000"},
		{"hundreds", number(123), "123"},
		{"hundreds of thousands", number(123456), "123 456"},
		{"negative", number(-1234), "-1 234"},
		{"bytes", size(512), "512 B"},
		{"few megabytes", size(1_234_567), "1.2 MB"},
		{"terabytes", size(123e12), "123 TB"},
		{"table", grid.String(), "| a | b | c |\n|---|---:|---:|\n| x | 1 | y |\n"},
		{"table with explanations", explained.String(), "| a | b | c |\n|---|---:|---|\n| x | 1 | y |\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %q, want %q", c.got, c.want)
			}
		})
	}
}
