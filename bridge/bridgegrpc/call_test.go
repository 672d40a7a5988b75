package bridgegrpc

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/perfline/perfline/observer"
)

// The header of a call that is cut off may come in while its end is recorded.
func TestResponseAtTheEnd(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	c := &call{method: "m", tl: tl, start: time.Second}
	c.response.Store(int64(time.Minute))
	c.record(context.Background(), observer.Resource, codes.Canceled, 3*time.Second)
	for _, e := range tl.Entries() {
		for a := range e.Attrs() {
			if a.Key == observer.ResponseStart && a.Value.Duration() != e.Duration() {
				t.Errorf("the response starts at %v of %v", a.Value, e.Duration())
			}
		}
		if e.StartTime() != time.Second || e.Duration() != 2*time.Second {
			t.Errorf("%v, want from 1 s to 3 s", e)
		}
	}
	if n := len(tl.Entries()); n != 1 {
		t.Errorf("%d entries", n)
	}
}
