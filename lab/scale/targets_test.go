package main

import (
	"strings"
	"testing"
	"time"
)

func TestWhyNotCarried(t *testing.T) {
	for _, c := range []struct {
		name string
		carried
		want string // empty: sustained
	}{
		{name: "sustained", carried: carried{rate: 1000, p99: sustainedAnswer, left: 100}},
		{name: "refused", carried: carried{rate: 1000, refused: 2}, want: "2 batches refused"},
		{name: "not sent", carried: carried{rate: 1000, unsent: 3}, want: "3 batches could not"},
		{name: "slow", carried: carried{rate: 1000, p99: sustainedAnswer + 10*time.Millisecond}, want: "p99"},
		{name: "the queue grows", carried: carried{rate: 1000, left: 101}, want: "101 spans left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.why(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
