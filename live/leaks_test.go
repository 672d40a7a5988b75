package live_test

import (
	"bytes"
	"context"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/profiling"
)

// leakingFunction is the function of the goroutines that leak starts.
const leakingFunction = "github.com/perfline/perfline/live_test.waitForever"

// leak starts a goroutine that no other goroutine can ever wake, with a stack of this function of so many frames.
func leak(depth int) {
	blocked := make(chan struct{})
	go waitForever(blocked, depth)
	<-blocked
}

//go:noinline
func waitForever(blocked chan struct{}, depth int) {
	if depth > 1 {
		waitForever(blocked, depth-1)
		return
	}
	close(blocked)
	<-make(chan struct{})
}

type leakReport struct {
	At, Took   float64
	Goroutines int
	Stacks     []struct {
		Goroutines int
		Span       string
		Frames     []string
	}
	Cut int
}

// leakedNow returns how many goroutines have leaked, by the runtime's account.
func leakedNow(t *testing.T) (n int64) {
	t.Helper()
	var raw bytes.Buffer
	if err := pprof.Lookup("goroutineleak").WriteTo(&raw, 0); err != nil {
		t.Fatal(err)
	}
	p, err := pprofpb.Parse(&raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		n += s.Value[0]
	}
	return n
}

func hasLeakProfile() bool { return pprof.Lookup("goroutineleak") != nil }

// A click finds the goroutines that leaked, and where. The next clients get the same answer for some seconds.
func TestLeaks(t *testing.T) {
	p := start(t, allowed, live.Config{})
	var sessions struct{ Sessions struct{ Leaks bool } }
	p.get("data/v1/overview", http.StatusOK, &sessions)
	if sessions.Sessions.Leaks != hasLeakProfile() {
		t.Errorf("the page offers to look for leaks: %t, the runtime can: %t", sessions.Sessions.Leaks, hasLeakProfile())
	}
	if !hasLeakProfile() {
		if rec := p.do(ask(http.MethodPost, "data/v1/leaks", "")); rec.Code != http.StatusNotFound || !strings.Contains(rec.Body.String(), "build it with Go 1.27") {
			t.Errorf("status %d, %s", rec.Code, rec.Body)
		}
		return
	}
	const most, leaks = 100, 123
	before := leakedNow(t)      // of an earlier run in this process, with the same stacks, and of other tests
	others := before%leaks != 0 // with other stacks
	leakIn := func(span string, depth int) {
		pprof.Do(context.Background(), pprof.Labels("span_name", span), func(context.Context) { leak(depth) })
	}
	for range 3 {
		leakIn("GET /leak", most+20)
	}
	for depth := range 60 {
		leakIn("GET /a", depth+1)
		leakIn("GET /b", depth+1)
	}
	end, pause := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer pause.Stop()
	for leakedNow(t) < before+leaks { // until the last ones wait
		select {
		case <-pause.C:
		case <-end:
			t.Fatalf("%d goroutines leaked, want %d", leakedNow(t), before+leaks)
		}
	}
	var got, again leakReport
	p.decode(p.do(ask(http.MethodPost, "data/v1/leaks", "")), "leaks", http.StatusOK, &got)
	p.decode(p.do(ask(http.MethodPost, "data/v1/leaks", "")), "leaks", http.StatusOK, &again)
	if got.Goroutines != int(before)+leaks || len(got.Stacks) != most || got.Cut < 21 || got.Cut > 21 && !others || got.Took <= 0 {
		t.Fatalf("%d goroutines, %d stacks and %d cut, in %g ms; want %d, %d and 21", got.Goroutines, len(got.Stacks), got.Cut, got.Took, before+leaks, most)
	}
	if again.At != got.At {
		t.Error("the second client had the world stopped again")
	}
	first := got.Stacks[0]
	if others && first.Span != "GET /leak" {
		first = got.Stacks[1]
	}
	if first.Goroutines == 0 || first.Goroutines%3 != 0 || first.Span != "GET /leak" || !slices.ContainsFunc(first.Frames, func(f string) bool {
		return strings.HasPrefix(f, leakingFunction+" ") && strings.Contains(f, "leaks_test.go:")
	}) {
		t.Errorf("the stack of most goroutines is %+v, want 3 of GET /leak in %s", first, leakingFunction)
	}
	for _, s := range got.Stacks {
		if len(s.Frames) > most {
			t.Errorf("a stack has %d frames, want at most %d", len(s.Frames), most)
		}
	}

	few := allowed
	few.Sessions.Policy.Modules = []string{profiling.ModuleStandard}
	p = start(t, few, live.Config{})
	rec := p.do(ask(http.MethodPost, "data/v1/leaks", ""))
	if strings.Contains(rec.Body.String(), leakingFunction) || !strings.Contains(rec.Body.String(), "runtime.gopark") {
		t.Errorf("the policy shows the standard library only, the page %s", rec.Body)
	}
}

// Only those who may see sessions may look for leaks. A GET and another origin's page look for none. A client that
// left does not wait for its turn.
func TestLeaksAreGuarded(t *testing.T) {
	p := start(t, perfline.Config{}, live.Config{})
	p.decode(p.do(ask(http.MethodPost, "data/v1/leaks", "")), "leaks without permission", http.StatusForbidden, nil)
	p = start(t, allowed, live.Config{})
	p.get("data/v1/leaks", http.StatusNotFound, nil)
	foreign := ask(http.MethodPost, "data/v1/leaks", "")
	foreign.Header.Set("Origin", "https://elsewhere.example")
	p.decode(p.do(foreign), "leaks for another origin", http.StatusForbidden, nil)
	far := ask(http.MethodPost, "data/v1/leaks", "")
	far.RemoteAddr = "192.0.2.1:4711"
	p.decode(p.do(far), "leaks for another machine", http.StatusForbidden, nil)
	if !hasLeakProfile() {
		return
	}
	p.startSession(`{"startMode":"START_MODE_IMMEDIATE"}`)
	p.call("StopProfiler", `{"sessionID":1}`, nil)
	release := p.occupy()
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rec := p.do(ask(http.MethodPost, "data/v1/leaks", "").WithContext(ctx)); rec.Body.Len() > 0 {
		t.Errorf("beside two others, for a client that left: %s", rec.Body)
	}
}
