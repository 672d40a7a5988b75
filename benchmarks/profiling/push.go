package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// clients are so many that the service always has something to do: waiting and being woken
// up would take it as long as what is measured, and no two times as long.
const clients = 16

// push measures what a request costs a service whose traces and profiles are delivered.
// The services take turns, of five times the length and as much before it that is not
// measured. In each of the two, profiles are pushed twice: pyroscope-go pushes those of the
// CPU every other time only, since its ticker fires a little before they are complete. The
// requests and the backend are this process's.
func push(ctx context.Context, rounds int, length time.Duration) error {
	interval := max(5*length/2, time.Second) // perfline pushes no oftener
	length = 2 * interval
	rows := make([]*delivering, len(services))
	for i := range rows {
		var err error
		if rows[i], err = deliver(ctx, i, interval); err != nil {
			return err
		}
	}
	for i := range rounds {
		fmt.Fprintf(os.Stderr, "\rround %d of %d ", i+1, rounds)
		for k := range rows { // each round begins with another row
			row := rows[(k+i)%len(rows)]
			if err := row.turn(ctx, length); err != nil {
				return fmt.Errorf("%s: %w", row.name, err)
			}
		}
	}
	fmt.Fprintln(os.Stderr)
	for _, row := range rows {
		if err := row.stop(); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	fmt.Printf("Delivery: %d rounds of %v, profiles every %v. CPU of the service's process for a request, latencies at the client, bytes allocated; of the backend, spans of a request and their bytes, profiles and their bytes in a round.\n", rounds, length, interval)
	fmt.Printf("\n| service | CPU | added | of the rounds | p50 | p99 | allocated | spans | | profiles | |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, row := range rows {
		fmt.Println(row.line(rows[0]))
	}
	return nil
}

// A delivering is a row: a service in a process of its own, and its backend.
type delivering struct {
	name    string
	traced  bool
	url     string
	child   *exec.Cmd
	stdin   io.Closer
	client  *http.Client
	backend *backend
	server  *httptest.Server // of the backend
	asked   int64            // requests in all

	cpu, bytes []float64 // nanoseconds and bytes for a request, by round
	took       []time.Duration
	received   received
}

func deliver(ctx context.Context, i int, interval time.Duration) (*delivering, error) {
	d := &delivering{name: services[i].name, traced: services[i].traced, backend: &backend{}}
	d.server = httptest.NewServer(d.backend)
	d.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	d.child = exec.CommandContext(ctx, os.Args[0], "-serve", fmt.Sprint(i))
	d.child.Env = environment(i, d.server.URL, interval)
	d.child.Stderr = os.Stderr
	stdout, err := d.child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if d.stdin, err = d.child.StdinPipe(); err != nil {
		return nil, err
	}
	if err := d.child.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, cmp.Or(d.child.Wait(), err))
	}
	d.url = strings.TrimSpace(line)
	return d, nil
}

// stop ends the child by the end of its input, and checks that all its spans came.
func (d *delivering) stop() error {
	err := errors.Join(d.stdin.Close(), d.child.Wait())
	d.server.Close()
	want := int64(0)
	if d.traced {
		want = spansOfRequest * d.asked
	}
	if got := d.backend.received().spans; err == nil && got != want {
		err = fmt.Errorf("%d spans arrived of %d requests, want %d", got, d.asked, want)
	}
	return err
}

// turn measures requests, after as many others: profiles are of the time before they are
// pushed.
func (d *delivering) turn(ctx context.Context, length time.Duration) error {
	do := func() error { _, err := d.get(ctx, "/work"); return err }
	warm, err := work(clients, do, length)
	if err != nil {
		return err
	}
	before, err := d.used(ctx)
	if err != nil {
		return err
	}
	received := d.backend.received()
	took, err := work(clients, do, length)
	if err != nil {
		return err
	}
	d.received = d.received.plus(d.backend.received().minus(received))
	after, err := d.used(ctx)
	if err != nil {
		return err
	}
	n := float64(len(took))
	d.cpu = append(d.cpu, float64(after.CPU-before.CPU)/n)
	d.bytes = append(d.bytes, float64(after.Allocated-before.Allocated)/n)
	d.took = append(d.took, took...)
	d.asked += int64(len(warm) + len(took))
	return nil
}

func (d *delivering) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, res.Status)
	}
	return body, err
}

func (d *delivering) used(ctx context.Context) (u used, err error) {
	body, err := d.get(ctx, "/used")
	if err != nil {
		return u, err
	}
	return u, json.Unmarshal(body, &u)
}

func (d *delivering) line(first *delivering) string {
	added := "– | –"
	if d != first {
		more := make([]float64, len(d.cpu))
		for i := range more {
			more[i] = d.cpu[i] - first.cpu[i]
		}
		added = fmt.Sprintf("%+.1f µs | %+.1f … %+.1f", median(more)/1e3, slices.Min(more)/1e3, slices.Max(more)/1e3)
	}
	slices.Sort(d.took)
	at := func(q float64) time.Duration {
		return d.took[int(q*float64(len(d.took)-1))].Round(time.Microsecond)
	}
	requests, rounds, r := float64(len(d.took)), float64(len(d.cpu)), d.received
	return fmt.Sprintf("| %s | %.1f µs | %s | %v | %v | %.1f kB | %.2f | %.0f B | %.1f | %.1f kB |", d.name, median(d.cpu)/1e3, added,
		at(0.5), at(0.99), median(d.bytes)/1e3, float64(r.spans)/requests, float64(r.spanBytes)/requests,
		float64(r.profiles)/rounds, float64(r.profileBytes)/rounds/1e3)
}
