package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		name   string
		length time.Duration
		rate   int
		into   string
		rest   []string
		want   string
	}{
		{"too short", 9 * time.Second, 200, "", nil, "-for 9s: must be at least 10s"},
		{"no rate", time.Minute, 0, "", nil, "-rate 0: must be between 1 and"},
		{"an argument", time.Minute, 200, "", []string{"now"}, `["now"]: no arguments`},
		{"a short run into a document", 4 * time.Minute, 200, "faults.md", nil, "-into faults.md: needs -for 5m0s or more"},
		{"into no document", 5 * time.Minute, 200, "/dev/null", nil, "-into: /dev/null: the line \"<!-- soak -->\" is there 0 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Flags that are taken begin a soak, which this ends.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := run(ctx, c.length, 1, c.rate, "", c.into, c.rest)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}
