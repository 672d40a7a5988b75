package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling"
)

// besideOthers runs two sessions while another profiler comes and goes, and prints their
// state every second, which are shorter in a short run.
func besideOthers(ctx context.Context, _ int, _ time.Duration) error {
	const seconds = 12
	second := time.Second
	if short {
		second /= 20
	}
	var all []*profiling.Profiler
	for _, interval := range []time.Duration{10 * time.Millisecond, 50 * time.Millisecond} {
		p, err := profiling.Start(ctx,
			profiling.Options{SampleInterval: interval, MaxBufferSize: 1_000_000})
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	fmt.Printf("Sessions: of 10 ms and 50 ms, %d cores busy. In seconds 4 to 5 and 8 to 9 somebody else stops whatever profiles and profiles itself.\n", runtime.GOMAXPROCS(0))
	fmt.Println("\n| second | 10 ms: state | samples | gaps | 50 ms: state | samples | gaps |\n|---:|---|---:|---:|---|---:|---:|")
	over := make(chan struct{})
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					sink(spin(100_000))
				}
			}
		})
	}
	var others []string
	tick := time.NewTicker(second)
	defer tick.Stop()
	var foreign *bytes.Buffer
	for i := 1; i <= seconds && ctx.Err() == nil; i++ {
		<-tick.C
		for i == 2 && ctx.Err() == nil &&
			slices.ContainsFunc(all,
				func(p *profiling.Profiler) bool { return p.Stats().Samples == 0 }) {
			time.Sleep(time.Millisecond) // a session without a sample would fail, as busy
		}
		fmt.Printf("| %d |", i)
		for _, p := range all {
			s := p.Stats()
			fmt.Printf(" %s | %d | %d, %v |", p.State(), s.Samples, s.Gaps,
				s.GapTime.Round(time.Millisecond))
		}
		fmt.Println()
		switch i {
		case 3, 7:
			foreign = &bytes.Buffer{}
			pprof.StopCPUProfile() // as agents do that ignore other profilers
			if err := pprof.StartCPUProfile(foreign); err != nil {
				return fmt.Errorf("the other profiler: %w", err)
			}
		case 5, 9:
			pprof.StopCPUProfile()
			got, err := profile.Parse(foreign)
			if err != nil {
				return fmt.Errorf("the other's profile: %w", err)
			}
			var ns int64
			for _, s := range got.Sample {
				ns += s.Value[1]
			}
			others = append(others,
				fmt.Sprintf("%v of CPU in %v", time.Duration(ns),
					time.Duration(got.DurationNanos).Round(time.Millisecond)))
		}
	}
	close(over)
	wg.Wait()
	for _, p := range all {
		t, err := p.Stop()
		if err != nil {
			return err
		}
		var cpu time.Duration
		for _, s := range t.Samples {
			cpu += s.Weight
		}
		fmt.Printf("\n%v: %d samples for %v of CPU, %d lost, %d gaps of %v together.",
			p.SampleInterval(), len(t.Samples), cpu.Round(10*time.Millisecond), t.Stats.Lost,
			t.Stats.Gaps, t.Stats.GapTime.Round(time.Millisecond))
	}
	fmt.Printf("\nThe other profiler: %v.\n", others)
	return nil
}
