package record

import (
	"testing"
	"time"
)

// The wall clock, which the runtime tells the end of a collection by, may have been stepped.
func TestCollectionEnd(t *testing.T) {
	const seen, now = time.Second, 2 * time.Second
	for name, c := range map[string]struct{ end, want time.Duration }{
		"as it should be":          {1500 * time.Millisecond, 1500 * time.Millisecond},
		"the clock was put on":     {-time.Hour, seen},
		"the clock was put back":   {time.Hour, now},
		"at the pass":              {now, now},
		"at the pass before":       {seen, seen},
		"before the program began": {-1 << 62, seen},
	} {
		if got := collectionEnd(c.end, seen, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
