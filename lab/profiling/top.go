package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling"
)

// top profiles the same program with runtime/pprof and with perfline, taking
// turns, and compares what go tool pprof says of both.
func top(ctx context.Context, rounds int, length time.Duration) error {
	over := make(chan struct{})
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { mixed(over) })
	}
	var standard, own []*profile.Profile
	for range rounds {
		var buf bytes.Buffer
		if err := pprof.StartCPUProfile(&buf); err != nil {
			return err
		}
		turn(length)
		pprof.StopCPUProfile()
		p, err := profile.Parse(&buf)
		if err != nil {
			return err
		}
		standard = append(standard, p)
		s, err := profiling.Start(ctx,
			profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 1_000_000})
		if err != nil {
			return err
		}
		turn(length)
		t, err := s.Stop()
		if err != nil {
			return err
		}
		buf.Reset()
		if err := t.WritePprof(&buf); err != nil {
			return err
		}
		if p, err = profile.Parse(&buf); err != nil {
			return err
		}
		own = append(own, p)
	}
	close(over)
	wg.Wait()
	dir, err := os.MkdirTemp("", "perfline-top")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	theirs, n, err := flat(ctx, filepath.Join(dir, "standard"), standard)
	if err != nil {
		return err
	}
	ours, m, err := flat(ctx, filepath.Join(dir, "perfline"), own)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(theirs))
	for name := range theirs {
		names = append(names, name)
	}
	for name := range ours {
		if _, ok := theirs[name]; !ok {
			names = append(names, name)
		}
	}
	most := func(name string) float64 { return max(theirs[name], ours[name]) }
	sort.Slice(names, func(i, j int) bool { return most(names[i]) > most(names[j]) })
	fmt.Printf("Top: %d samples of runtime/pprof and %d of perfline, in turns of %v; flat %% by go tool pprof -top.\n", n, m, length)
	fmt.Println("\n| function | standard | perfline | apart |\n|---|---:|---:|---:|")
	worst := 0.0
	for _, name := range names {
		apart := ours[name] - theirs[name]
		worst = max(worst, apart, -apart)
		if most(name) >= 1 {
			fmt.Printf("| %s | %.2f | %.2f | %+.2f |\n", name, theirs[name], ours[name], apart)
		}
	}
	fmt.Printf("\nThe furthest apart are %.2f points; with that many samples chance alone makes some %.1f.\n", worst, 100/math.Sqrt(float64(min(n, m))))
	return nil
}

// turn takes so long, and longer until its profile has samples for certain: a busy machine may give
// a short turn little CPU time.
func turn(length time.Duration) {
	used := cputime.Process()
	time.Sleep(length)
	for cputime.Process()-used < 100*time.Millisecond {
		time.Sleep(time.Millisecond)
	}
}

// pprof marks inlined functions of the standard profile.
var topLine = regexp.MustCompile(
	`^\s*\S+\s+([0-9.]+)%\s+[0-9.]+%\s+\S+\s+[0-9.]+%\s+(.*?)(?: \((?:partial-)?inline\))?$`)

// flat merges profiles into a file and reads the flat percentages that go tool
// pprof tells of it, with the number of samples.
func flat(ctx context.Context, file string, all []*profile.Profile) (map[string]float64, int64,
	error) {
	p, err := profile.Merge(all)
	if err != nil {
		return nil, 0, err
	}
	var n int64
	for _, s := range p.Sample {
		n += s.Value[0]
	}
	var buf bytes.Buffer
	if err := p.Write(&buf); err != nil {
		return nil, 0, err
	}
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		return nil, 0, err
	}
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=1000",
		"-nodefraction=0", file).Output()
	if err != nil {
		return nil, 0, fmt.Errorf("go tool pprof: %w", err)
	}
	shares := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		if m := topLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			percent, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return nil, 0, err
			}
			shares[m[2]] += percent
		}
	}
	if len(shares) == 0 {
		return nil, 0, fmt.Errorf("go tool pprof -top said nothing that could be read: %s", out)
	}
	return shares, n, nil
}

// mixed does work of several kinds, as programs do, until over is closed.
func mixed(over chan struct{}) {
	words := strings.Fields(strings.Repeat("the quick brown fox jumps over the lazy dog ", 50))
	for {
		select {
		case <-over:
			return
		default:
		}
		sink(spin(50_000))
		slices.Sort(slices.Clone(words))
		counts := map[string]int{}
		for _, w := range words {
			counts[w]++
		}
		_ = strconv.Itoa(len(counts)) + strings.Join(words, ",")
	}
}
