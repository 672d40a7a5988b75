package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
)

// nodeScript measures Node's own User Timing in rounds; it prints nanoseconds for
// each call, as JSON. Entries are cleared, as Node keeps them all.
const nodeScript = `
const { performance, PerformanceObserver } = require('perf_hooks');
const rounds = +process.argv[1], n = 5000, out = {};
const rows = {
  mark: () => performance.mark('m'),
  markDetail: () => performance.mark('m', { detail: { k: 'v', n: 1 } }),
  measure: () => performance.measure('x', 'a', 'b'),
};
performance.mark('a'); performance.mark('b');
for (let r = 0; r < rounds + 2; r++) {
  for (const [name, op] of Object.entries(rows)) {
    const begin = process.hrtime.bigint();
    for (let i = 0; i < n; i++) op();
    const took = Number(process.hrtime.bigint() - begin) / n;
    if (r >= 2) (out[name] ||= []).push(took); // two rounds to warm up
    performance.clearMarks('m'); performance.clearMeasures();
  }
}
console.log(JSON.stringify({ version: process.version, took: out }));`

// nodeRows are Node's performance.mark and measure, where Node is installed, as
// multiples of this program's time.Now(), measured once before them.
func nodeRows(ctx context.Context, rounds int, only *regexp.Regexp) ([]*row, error) {
	const group = "other ways"
	names := []struct{ key, name string }{
		{"mark", "Node.js `performance.mark`"},
		{"markDetail", "Node.js `performance.mark` with a detail of 2"},
		{"measure", "Node.js `performance.measure` between two names"},
	}
	if !slices.ContainsFunc(names,
		func(n struct{ key, name string }) bool {
			return only.MatchString(group + ": " +
				n.name)
		}) {
		return nil, nil
	}
	node, err := exec.LookPath("node")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	now := timeNow()
	out, err := exec.CommandContext(ctx, node, "-e", nodeScript, strconv.Itoa(rounds)).Output()
	if err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	var printed struct {
		Version string
		Took    map[string][]float64
	}
	if err := json.Unmarshal(out, &printed); err != nil {
		return nil, fmt.Errorf("node printed %q: %w", out, err)
	}
	var rows []*row
	for _, n := range names {
		values := printed.Took[n.key]
		if len(values) == 0 {
			return nil, fmt.Errorf("node printed nothing for %s: %q", n.key, out)
		}
		if !only.MatchString(group + ": " + n.name) {
			continue
		}
		r := &row{group: group, name: n.name + ", " + printed.Version, fixed: true}
		for _, v := range values {
			r.samples = append(r.samples, sample{caller: v / now, now: now})
		}
		rows = append(rows, r)
	}
	return rows, nil
}
