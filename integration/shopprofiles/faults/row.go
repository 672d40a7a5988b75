package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// A row is what the shop says of a case.
type row struct {
	sent, lost, again                      int
	refused, unanswered, overflow, pending int
	p50, p99                               string // of GET /products/{id}
	peak                                   int64  // of its memory, in bytes
	lines                                  int    // logged
}

// run runs the shop with the case's server.
func (f fault) run(ctx context.Context, o options) (*row, error) {
	url, stop := f.serve()
	defer stop()
	length := cmp.Or(f.length, o.length)
	cmd := exec.CommandContext(ctx, o.shop, "-for", length.String(), "-rps", strconv.Itoa(o.rps))
	cmd.Env = append(os.Environ(), "PYROSCOPE_SERVER_ADDRESS="+url, "PYROSCOPE_UPLOAD_INTERVAL=1s")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	beside := make(chan error, 1)
	go func() {
		if f.meanwhile == nil {
			beside <- nil
			return
		}
		beside <- f.meanwhile(ctx, length)
	}()
	ended := cmd.Wait()
	if err := errors.Join(ctx.Err(), <-beside); err != nil {
		return nil, err
	}
	if o.verbose {
		fmt.Fprintf(os.Stderr, "=== %s\n%s", f.name, &out)
	}
	r, err := parse(out.String())
	if err == nil && (ended != nil) != (r.lost > 0) {
		err = fmt.Errorf("%d profiles are lost and the shop ended with %w", r.lost, ended)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &out)
	}
	// In KiB. It is at least what this command has at most itself, which is less.
	r.peak = cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	return r, nil
}

var (
	routeLine = regexp.MustCompile(`(?m)^\s*GET /products/\{id\}\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+\S+\s*$`)
	total     = regexp.MustCompile(`(?m)^(\d+) profiles for Pyroscope: (\d+) delivered, (\d+) lost\.$`)
	causes    = regexp.MustCompile(`(?m)^Of profiles: (\d+) refused, (\d+) unanswered, (\d+) dropped at the full queue, (\d+) given up at the end; sent again (\d+) times\.$`)
)

// parse reads what the shop printed, and checks it.
func parse(out string) (*row, error) {
	r := &row{lines: strings.Count(out, `msg="perfline: `)}
	route := routeLine.FindStringSubmatch(out)
	if route == nil {
		return nil, errors.New("the shop does not say how long its requests took")
	}
	if route[1] == "0" || route[2] != "0" {
		return nil, fmt.Errorf("the service noticed: %s of %s requests failed", route[2], route[1])
	}
	r.p50, r.p99 = route[3], route[4]
	accepted := 0
	if err := numbers(total.FindStringSubmatch(out), &accepted, &r.sent, &r.lost); err != nil {
		return nil, err
	}
	if m := causes.FindStringSubmatch(out); m != nil {
		if err := numbers(m, &r.refused, &r.unanswered, &r.overflow, &r.pending, &r.again); err != nil {
			return nil, err
		}
	}
	if lost := r.refused + r.unanswered + r.overflow + r.pending; accepted == 0 || accepted != r.sent+lost || lost != r.lost {
		return nil, fmt.Errorf("the books do not add up: %d profiles, %+v", accepted, *r)
	}
	return r, nil
}

// numbers reads what a line's groups matched.
func numbers(groups []string, into ...*int) error {
	if len(groups) != len(into)+1 {
		return errors.New("the shop does not say what became of its profiles")
	}
	for i, n := range into {
		var err error
		if *n, err = strconv.Atoi(groups[i+1]); err != nil {
			return err
		}
	}
	return nil
}
