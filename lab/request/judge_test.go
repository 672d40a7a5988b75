package main

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/lab/internal/figures"
)

func turnsOf(seed uint64, rounds, loads int, variants ...int) []turn {
	return turns(rand.New(rand.NewPCG(seed, 0)), rounds, loads, variants) //nolint:gosec // the same in every run
}

// In each round, each variant has one turn under each load, and all turns of a round come before the
// next round.
func TestTurnsArePaired(t *testing.T) {
	const rounds, loads = 5, 4
	variants := []int{1, 2, 5}
	all := turnsOf(7, rounds, loads, variants...)
	for len(all) > 0 {
		var got []int
		for _, in := range all[:len(variants)] {
			if in.round != all[0].round || in.load != all[0].load {
				t.Fatalf("%+v is among the turns of round %d under load %d", in, all[0].round, all[0].load)
			}
			got = append(got, in.variant)
		}
		if slices.Sort(got); !slices.Equal(got, variants) {
			t.Errorf("round %d, load %d has the variants %v, want each of %v once", all[0].round, all[0].load, got, variants)
		}
		if next := all[len(variants):]; len(next) > 0 && (next[0].round-all[0].round)*loads+next[0].load-all[0].load != 1 {
			t.Errorf("%+v comes after %+v", next[0], all[0])
		}
		all = all[len(variants):]
	}
	if n := len(turnsOf(7, rounds, loads, variants...)); n != rounds*loads*len(variants) {
		t.Errorf("%d turns, want %d", n, rounds*loads*len(variants))
	}
}

func TestOrderOfTurns(t *testing.T) {
	a := turnsOf(7, 20, 2, 0, 1, 2, 3)
	if !slices.Equal(a, turnsOf(7, 20, 2, 0, 1, 2, 3)) {
		t.Error("one seed gives two orders")
	}
	if slices.Equal(a, turnsOf(8, 20, 2, 0, 1, 2, 3)) {
		t.Error("two seeds give one order")
	}
	first := map[int]int{} // how often a variant was the first one of its load and round
	for i := 0; i < len(a); i += 4 {
		first[a[i].variant]++
	}
	if len(first) != 4 {
		t.Errorf("in 40 orders, first were %v, want each of the 4 variants sometimes", first)
	}
}

// synthetic is a load with two rounds: the reference adds 40 µs and the README's program 10 µs, while
// the machine drifts.
func synthetic() []*judgedLoad {
	services := []*served{{name: none}, {name: reference}, {name: complete}, {name: "a peer"}}
	loads := newLoads(services)
	for _, l := range loads {
		for _, drift := range []float64{10e3, 90e3} {
			for i, cpu := range []float64{0, 40e3, 10e3, 50e3} {
				l.add(i, sample{cpu: drift + cpu, allocations: 100 + float64(10*i), bytes: 1000 * float64(1+i), wire: float64(800 * i)}, 990)
			}
		}
		if l.shares != nil {
			l.shares[1] = []tally{{telemetry: 20, handler: 10}, {telemetry: 20, handler: 10}}
			l.shares[2] = []tally{{telemetry: 6, handler: 10}, {telemetry: 6, handler: 10}}
		}
	}
	return loads
}

func TestJudgeTable(t *testing.T) {
	loads := synthetic()
	want := []string{
		"| **" + working.title + ", service and client in one process, flat out** |",
		"|---|",
		"| none | 50.0 µs | – | – | – | – | – | (100.0) | (1000) | 0 |",
		"| " + reference + " | 90.0 µs | 40.00 µs | 1 | – | 1 | – | 10.0 | 1000 | 800 |",
		"| " + complete + " | 60.0 µs | 10.00 µs | 0.25 | 0.25 … 0.25 | 0.30 | 0.30 … 0.30 | 20.0 | 2000 | 1600 |",
		"| a peer | 100.0 µs | 50.00 µs | 1.25 | 1.25 … 1.25 | – | – | 30.0 | 3000 | 2400 |",
	}
	got := strings.Split(strings.TrimSpace(loads[0].table()), "\n")
	if len(got) != len(want) {
		t.Fatalf("the table has %d lines, want %d:\n%s", len(got), len(want), loads[0].table())
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("line %d is\n%s\nwant\n%s", i, got[i], want[i])
		}
	}
	titles := []string{
		"service and client in one process, flat out**", "service and client in one process, 1000/s**",
		"the client in another process, flat out**", "the client in another process, 1000/s**",
	}
	for i, l := range loads {
		if !strings.Contains(l.table(), titles[i]) {
			t.Errorf("table %d is not of %q:\n%s", i, titles[i], l.table())
		}
	}
}

// The table says when the machine did not keep up with the rate.
func TestTableOfASlowMachine(t *testing.T) {
	loads := synthetic()
	for i := range loads[1].names {
		loads[1].add(i, sample{cpu: float64(i)}, 800-100*float64(i))
	}
	if got := loads[1].table(); !strings.Contains(got, "1000/s (the slowest reached 500/s)") {
		t.Errorf("the table does not say that 500/s were reached:\n%s", got)
	}
}

func TestJudgeFigures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures")
	o := options{figures: path}
	if err := addFigures(o, judgeBudgets(synthetic())); err != nil {
		t.Fatal(err)
	}
	all, err := figures.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []figures.Figure{
		{Name: complete + ", one process, flat out: CPU time added, × reference", Goal: "≤ 0.36", Value: "0.25 (0.25 … 0.25)", Result: figures.Met},
		{Name: complete + ", one process, 1000/s: CPU time added, × reference", Goal: "≤ 0.45", Value: "0.25 (0.25 … 0.25)", Result: figures.Met},
		{Name: complete + ", apart, flat out: CPU time added, × reference", Value: "0.25 (0.25 … 0.25)", Result: figures.None},
		{Name: complete + ", one process, flat out" + samplesRatio, Goal: "≤ 0.30", Value: "0.30 (0.30 … 0.30)", Result: figures.Met},
		{Name: complete + ", one process, flat out: allocations added", Goal: "≤ 6", Value: "20", Result: figures.Missed},
		{Name: complete + ", one process, flat out: bytes added", Goal: "≤ 1500", Value: "2000", Result: figures.Missed},
		{Name: "a peer, one process, flat out: CPU time added, × reference", Value: "1.25 (1.25 … 1.25)", Result: figures.None},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%q is not among the figures %q", want, all)
		}
	}
}

// Each promise of the judge is one of a figure that the judge has.
func TestJudgePromises(t *testing.T) {
	has := map[string]bool{}
	for _, b := range judgeBudgets(synthetic()) {
		has[b.what] = true
	}
	for what := range promises {
		if strings.HasPrefix(what, complete+", ") && !has[what] {
			t.Errorf("%q has a promise, and the judge has no such figure", what)
		}
	}
}
