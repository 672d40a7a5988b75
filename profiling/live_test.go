package profiling_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// Each engine, on this system and this release of Go, sees a function that runs, under its span.
// The test waits for that, however long the machine takes.
func TestLiveEngines(t *testing.T) {
	for name, c := range map[string]struct {
		engines func(testing.TB)
		wall    bool
	}{
		"cpu":    {profiling.LiveEngines, false}, // the fallback, in a portable build
		"wall":   {profiling.LiveEngines, true},
		"window": {profiling.LiveWindows, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.engines(t)
			tl := observer.NewTimeline(observer.TimelineOptions{})
			tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl})
			defer func() { _ = tp.Shutdown(context.Background()) }()
			p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond, Wall: c.wall, WallBudget: 1, Spans: profiling.EverySpan})
			_, span := tp.Tracer("t").Start(observer.NewContext(t.Context(), tl), "GET /shop")
			defer span.End()
			for seen := false; !seen; {
				burned = burn(5_000_000)
				part, err := p.TakeTrace()
				if err != nil {
					t.Fatal(err)
				}
				seen = sees(part, "profiling_test.burn", "GET /shop")
			}
			if engine := p.Engine(); name == "window" && engine != profile.EngineWindow {
				t.Errorf("the engine is %s", engine)
			}
		})
	}
}

// sees reports whether a trace has a sample of a function under a span.
func sees(tr *profile.Trace, function, span string) bool {
	for _, s := range tr.Samples {
		if s.ContextID == profile.None || tr.Contexts[s.ContextID].SpanName != span {
			continue
		}
		for c := range tr.Calls(s) {
			if strings.HasSuffix(c.Name, function) {
				return true
			}
		}
	}
	return false
}

var burned uint64 // else there would be nothing to compute

//go:noinline
func burn(n int) (x uint64) {
	x = 88172645463325252
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
