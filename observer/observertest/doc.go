// Package observertest (stable) helps to test code that records and code that observes. It has a
// recorder with a clock that a test moves by hand.
//
//	rec := observertest.NewRecorder()
//	lookUp(rec.Context(t.Context()), "key")
//	if got := rec.Names(observer.Mark); !slices.Equal(got, []string{"cache.miss"}) {
//		t.Errorf("marks %q", got)
//	}
//
// A Recorder has a timeline of its own: parallel tests do not see each other's entries. Its clock
// stands still until the test moves it: durations are exact. Package bridge/bridgetest shows spans,
// too.
package observertest
