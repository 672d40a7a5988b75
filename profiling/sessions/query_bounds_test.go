package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/sessions"
)

// manyNames is a session of n measures, each of another name.
func manyNames(t *testing.T, n int) *sessions.Session {
	p := newTape(t)
	for i := range n {
		at := time.Duration(i) * ms
		p.in(fmt.Sprintf("name %d", i), at, at+time.Duration(i+1), 0, 0)
		if i%5000 == 0 {
			p.Deliver() // before the timeline's buffer is full
		}
	}
	return p.session(nil)
}

var errGone = errors.New("the client is gone")

// A patient context ends after having been looked at some times.
type patient struct {
	context.Context
	looks int
}

func (p *patient) Err() error {
	if p.looks--; p.looks < 0 {
		return context.Canceled
	}
	return nil
}

// A query ends with its context, wherever it is.
func TestQueriesEndWithTheirContext(t *testing.T) {
	s := manyNames(t, 20_000)
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errGone)
	for mode := sessions.All; mode <= sessions.ReduceAll; mode++ {
		t.Run(fmt.Sprintf("mode %d", mode), func(t *testing.T) {
			for looks := range 5 {
				list, _, err := s.Events(&patient{ended, looks}, sessions.Query{Timeline: 1, Mode: mode})
				if !errors.Is(err, errGone) || len(list) > 0 {
					t.Errorf("gone after %d looks: %d events and %v, want none and why", looks, len(list), err)
				}
			}
			if _, _, err := s.Events(&patient{ended, 6}, sessions.Query{Timeline: 1, Mode: mode}); err != nil {
				t.Errorf("20000 events take more than 6 looks: %v", err)
			}
			if _, _, err := s.Events(&patient{ended, 1}, sessions.Query{Timeline: 1, Mode: mode, MaxDepth: 1, Types: []sessions.EventType{sessions.GC}}); !errors.Is(err, errGone) {
				t.Errorf("gone while nothing is found: %v", err)
			}
		})
	}
}

// A query for a few of many names does not allocate events for all of them.
func TestMemoryOfReducedEvents(t *testing.T) {
	const n = 20_000
	s := manyNames(t, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	list, more := askFor(t, s, sessions.Query{Timeline: 1, Mode: sessions.ReduceUniqueEvents, Limit: 10})
	runtime.ReadMemStats(&after)
	if len(list) != 10 || !more || list[0].Name != fmt.Sprintf("name %d", n-1) {
		t.Fatalf("got %d events, the first %s, want the 10 that took longest", len(list), names(list))
	}
	each := (after.TotalAlloc - before.TotalAlloc) / n
	t.Logf("%d bytes for each name", each)
	if each > 400 { // of which slices and maps that grow leave half behind
		t.Errorf("%d bytes for each name, want 400 at most", each)
	}
}
