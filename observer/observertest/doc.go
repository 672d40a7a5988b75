// Package observertest (stable) helps to test code that records and code that observes. A test
// moves the clock of its recorder by hand.
//
//	rec := observertest.NewRecorder()
//	lookUp(rec.Context(t.Context()), "key")
//	if got := rec.Names(observer.Mark); !slices.Equal(got, []string{"cache.miss"}) {
//		t.Errorf("marks %q", got)
//	}
//
// Each Recorder has its own timeline: parallel tests do not see each other's entries. Its clock
// stands still until the test moves it: durations are exact. Package bridge/bridgetest also records
// spans.
package observertest
