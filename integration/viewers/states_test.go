package viewers

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// The Firefox Profiler shows the goroutines of a request with their states, and the cause of its duration on the request's thread.
func TestFirefoxWithStates(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	threads, err := shownThreads(ctx, t, golden(t, "waits.firefox.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, th := range threads {
		if th.Process != "GET /products/{id}" {
			continue
		}
		fmt.Fprintf(&got, "%s %s/%d %q\n", th.Name, th.PID, th.TID, th.Functions)
		for _, m := range th.Markers {
			if m.Type == "State" || m.Type == "Cause" {
				fmt.Fprintf(&got, "\t%s\n", m)
			}
		}
	}
	const ids = "trace id=000000000000000000000000000000ab span id=00000000000000cd"
	want := `GET /products/{id} 3/3 ["main.render 10" "runtime.gopark 10"]
	Waiting Cause "of 70 ms, the execution trace covers 25 ms; 25 ms: waited for a mutex that POST /index held in (*Index).rebuild" -20+70 ` + ids + `
GET /products/{id} · 2 3/4 []
goroutine 7 (*conn).serve 3/5 []
	Other State "gap" -20+20 ` + ids + `
	Go State "running" 0+15 ` + ids + `
	Waiting State "mutex" 15+25 ` + ids + ` in=main.render ended by=(*Index).rebuild of the request=POST /index of the trace=01000000000000000000000000000000
	Runnable State "runnable" 40+5 ` + ids + ` in=main.render processor used by=goroutine 3
	Go State "running" 45+5 ` + ids + `
goroutine 8 main.prefetch 3/6 []
	Waiting State "network" 2+28 ` + ids + `
`
	if got.String() != want {
		t.Errorf("the Firefox Profiler shows\n%s\nwant\n%s", got.String(), want)
	}
}
