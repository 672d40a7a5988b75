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
console.log(JSON.stringify(out));`

// nodeRows are Node's performance.mark and measure, where Node is installed. They
// are multiples of the Go program's time.Now(), as all other rows.
func nodeRows(ctx context.Context, rounds int, only *regexp.Regexp) ([]*row, error) {
	const group = "other ways"
	names := []struct{ key, name string }{
		{"mark", "Node.js `performance.mark`"},
		{"markDetail", "Node.js `performance.mark` with a detail of 2"},
		{"measure", "Node.js `performance.measure` between two names"},
	}
	if !slices.ContainsFunc(names, func(n struct{ key, name string }) bool { return only.MatchString(group + ": " + n.name) }) {
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
	var took map[string][]float64
	if err := json.Unmarshal(out, &took); err != nil {
		return nil, fmt.Errorf("node printed %q: %w", out, err)
	}
	var rows []*row
	for _, n := range names {
		values := took[n.key]
		if len(values) == 0 {
			return nil, fmt.Errorf("node printed nothing for %s: %q", n.key, out)
		}
		slices.Sort(values)
		median := values[len(values)/2] / now
		if only.MatchString(group + ": " + n.name) {
			rows = append(rows, &row{group: group, name: n.name, fixed: &median})
		}
	}
	return rows, nil
}
