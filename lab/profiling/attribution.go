package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/lab/internal/figures"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// The split runs each function under a span of its name, in these shares.
var split = []struct {
	name  string
	share int // percent
	do    func(scale int)
}{{"fifty", 50, fifty}, {"thirty", 30, thirty}, {"twenty", 20, twenty}}

//go:noinline
func fifty(scale int) { sink(spin(50 * scale)) }

//go:noinline
func thirty(scale int) { sink(spin(30 * scale)) }

//go:noinline
func twenty(scale int) { sink(spin(20 * scale)) }

// sink keeps the call to spin from being the last thing its caller does.
//
//go:noinline
func sink(uint64) {}

// attribution runs the split under each engine until there are enough samples.
func attribution(ctx context.Context, rounds int, _ time.Duration) error {
	enough := uint64(300 * rounds)
	if short {
		enough = 5
	}
	pl, err := perfline.Start(ctx,
		perfline.Config{Service: "benchmark",
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	defer func() { _ = pl.Shutdown(ctx) }() // it delivers nothing anywhere
	tracer := pl.TracerProvider().Tracer("lab")
	fmt.Println("Attribution: three functions, each under a span of its own, in a known split.")
	fmt.Println("\n| engine | samples | fifty | thirty | twenty | under another's span | under none |\n|---|---:|---:|---:|---:|---:|---:|")
	for _, o := range []profiling.Options{{Spans: profiling.EverySpan},
		{Spans: profiling.EverySpan, Wall: true, WallBudget: 0.05}} {
		o.SampleInterval, o.MaxBufferSize = 10*time.Millisecond, 10_000_000
		p, err := profiling.Start(ctx, o)
		if err != nil {
			return err
		}
		want := enough
		if o.Wall {
			want *= 4 // it sees every other goroutine, too
		}
		runSplit(ctx, tracer, func() bool { return p.Stats().Samples >= want })
		t, err := p.Stop()
		if err != nil {
			return err
		}
		line, err := judge(p.Engine(), t)
		if err != nil {
			return err
		}
		fmt.Println(line)
	}
	return nil
}

func runSplit(ctx context.Context, tracer trace.Tracer, done func() bool) {
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			ctx, root := tracer.Start(ctx, "split")
			defer root.End()
			for !done() && ctx.Err() == nil {
				// Work that always takes as long could keep in step with the kernel's clock.
				scale := 1000 + rand.IntN(6000)
				for _, s := range split {
					_, span := tracer.Start(ctx, s.name)
					s.do(scale)
					span.End()
				}
			}
		})
	}
	wg.Wait()
}

// judge holds each sample's span against the function on its stack.
func judge(engine profile.Engine, t *profile.Trace) (string, error) {
	var total, wrong, none time.Duration
	by := map[string]time.Duration{}
	samples := 0
	for _, s := range t.Samples {
		function := ""
		for c := range t.Calls(s) {
			for _, f := range split {
				if strings.HasSuffix(c.Name, "main."+f.name) {
					function = f.name
				}
			}
		}
		if function == "" {
			continue
		}
		samples += s.Count
		total += s.Weight
		switch {
		case s.ContextID == profile.None || !t.Contexts[s.ContextID].SpanID.IsValid():
			none += s.Weight
		case t.Contexts[s.ContextID].SpanName != function:
			wrong += s.Weight
		default:
			by[function] += s.Weight
		}
	}
	share := func(d time.Duration) float64 { return float64(d) / float64(total) * 100 }
	const most = 1.0 // percent: the kernel may take a sample between a span's start and its label
	met := share(wrong) <= most
	err := figures.Add(figuresInto, fmt.Sprintf("engine %s: samples under another's span", engine),
		fmt.Sprintf("≤ %.0f %%", most),
		fmt.Sprintf("%.1f %% of %d", share(wrong), samples), &met)
	return fmt.Sprintf("| %s | %d | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.1f %% |", engine,
			samples,
			share(by["fifty"]), share(by["thirty"]), share(by["twenty"]), share(wrong),
			share(none)),
		err
}
