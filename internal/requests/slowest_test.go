package requests_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/requests"
)

// A request is among the slowest until another one ends more than an hour later, also when older ones left before it.
func TestSlowestOfTheLastHour(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: -1})
	for i, c := range []struct {
		end, took time.Duration
		want      string
	}{
		{2 * time.Minute, time.Minute, "0"},
		{50 * time.Minute, 2 * time.Second, "0 1"},
		{62 * time.Minute, time.Second, "0 1 2"},
		{65 * time.Minute, time.Millisecond, "1 2 3"},
		{110 * time.Minute, time.Millisecond, "1 2 4 3"},
		{115 * time.Minute, time.Microsecond, "2 4 3 5"},
		{10 * time.Minute, time.Hour, "6 2 4 3 5"}, // it ended long before it arrived
		{116 * time.Minute, time.Microsecond, "2 4 3 7 5"},
	} {
		r.OnEnd(span(i+1, 1, 0, fmt.Sprint(i), c.end-c.took, c.end))
		if got := strings.Join(rootNames(decoded(r.Slowest())), " "); got != c.want {
			t.Errorf("after request %d, the slowest are %s, want %s", i, got, c.want)
		}
	}
}
