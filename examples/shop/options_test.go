package main

import (
	"strings"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		o    options
		want string // part of the error; empty if there is none
	}{
		{"as they are", options{rps: 100}, ""},
		{"for a time", options{rps: 20_000, duration: time.Second, profile: "cpu"}, ""},
		{"for ever", options{rps: 1, forever: true}, ""},
		{"back in time", options{rps: 100, duration: -time.Second}, "-for -1s: must not be negative"},
		{"no requests", options{rps: 0}, "-rps 0: must be between"},
		{"too many", options{rps: 20_001}, "-rps 20001: must be between"},
		{"two ends", options{rps: 100, forever: true, duration: time.Second}, "-forever and -for 1s"},
		{"a profile of everything", options{rps: 100, forever: true, profile: "cpu"}, "-forever and -profile cpu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.o.check()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
