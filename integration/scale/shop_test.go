package main

import (
	"strings"
	"testing"
)

func TestProfilesSent(t *testing.T) {
	for _, c := range []struct {
		name, output string
		want         int
		fails        string
	}{
		{name: "some", output: "…\n39 profiles for Pyroscope: 39 delivered, 0 lost.\n", want: 39},
		{name: "silent", output: "…\n", fails: "does not say"},
		{name: "none", output: "0 profiles for Pyroscope: 0 delivered, 0 lost.\n", fails: "0 were delivered"},
		{name: "lost", output: "9 profiles for Pyroscope: 8 delivered, 1 lost.\n", fails: "1 lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := profilesSent([]byte(c.output))
			if got != c.want || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("got %d and %v, want %d and an error with %q", got, err, c.want, c.fails)
			}
		})
	}
}

func TestRequestsSent(t *testing.T) {
	for _, c := range []struct {
		name, output string
		want         int
		fails        string
	}{
		{name: "the last line", output: "load:  98 %    4.9s of 5s  490 requests  0 failed\nload: 100 %    5.0s of 5s  501 requests  0 failed\n…\n", want: 501},
		{name: "silent", output: "…\n", fails: "does not say"},
		{name: "none", output: "load: 100 %    5.0s of 5s  0 requests  0 failed\n", fails: "0 requests"},
		{name: "failed", output: "load: 100 %    5.0s of 5s  501 requests  2 failed\n", fails: "2 failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := requestsSent([]byte(c.output))
			if got != c.want || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("got %d and %v, want %d and an error with %q", got, err, c.want, c.fails)
			}
		})
	}
}
