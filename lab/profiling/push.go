package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/perfline/perfline/lab/internal/service"
)

// clients is so high that the service always has work. Waiting and waking up would otherwise
// take as long as the measured work, and vary.
const clients = 16

// push measures the CPU that delivered profiles add to a request, beside the same service
// without profiles. The judge (../request) measures the cost of traces. The services take
// turns of five times the length, after as much time that is not measured. Profiles are
// pushed twice in each: pyroscope-go pushes CPU profiles only every other time, because its
// ticker fires a little before they are complete. This process has the requests and the
// backend.
func push(ctx context.Context, rounds int, length time.Duration) error {
	interval := max(5*length/2, time.Second) // perfline pushes no oftener
	if !short {                              // else the profiles come at the end of each service
		length = 2 * interval
	}
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
	fmt.Printf("Delivery: %d rounds of %v, profiles every %v. CPU of the service's process for a request, what profiles add to it, latencies at the client, bytes allocated; of the backend, spans of a request and their bytes, profiles and their bytes in a round.\n", rounds, length, interval)
	fmt.Printf("\n| service | CPU | added | of the rounds | p50 | p99 | allocated | spans | | profiles | |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, row := range rows {
		fmt.Println(row.line(rows[row.beside]))
	}
	return nil
}

// A delivering is a row: a service in a process of its own, and its backend.
type delivering struct {
	name     string
	beside   int  // of the row without profiles
	profiles bool // are sent
	process  *service.Process
	client   *http.Client
	backend  *backend
	server   *httptest.Server // of the backend
	asked    int64            // requests in all

	cpu, bytes []float64 // nanoseconds and bytes for a request, by round
	took       []time.Duration
	received   received
}

func deliver(ctx context.Context, i int, interval time.Duration) (*delivering, error) {
	d := &delivering{name: services[i].name, beside: services[i].beside,
		profiles: services[i].profiles, backend: &backend{}}
	d.server = httptest.NewServer(d.backend)
	d.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	child := exec.CommandContext(ctx, os.Args[0], "-serve", fmt.Sprint(i))
	child.Env = environment(i, d.server.URL, interval)
	child.Stderr = os.Stderr
	var err error
	if d.process, err = service.Start(child); err != nil {
		return nil, fmt.Errorf("%s: %w", d.name, err)
	}
	return d, nil
}

// stop ends the process, and checks that all its spans came, and profiles if it sends some.
func (d *delivering) stop() error {
	err := d.process.Stop()
	d.server.Close()
	got, want := d.backend.received(), spansOfRequest*d.asked
	switch {
	case err != nil:
	case got.spans != want:
		err = fmt.Errorf("%d spans arrived of %d requests, want %d", got.spans, d.asked, want)
	case (got.profiles > 0) != d.profiles:
		err = fmt.Errorf("%d profiles arrived, want some: %t", got.profiles, d.profiles)
	}
	return err
}

// turn measures requests, after as many others: profiles are of the time before they are
// pushed.
func (d *delivering) turn(ctx context.Context, length time.Duration) error {
	do := func() error { return d.ask(ctx) }
	warm, err := work(clients, do, length)
	if err != nil {
		return err
	}
	before, err := d.process.Used(ctx)
	if err != nil {
		return err
	}
	received := d.backend.received()
	took, err := work(clients, do, length)
	if err != nil {
		return err
	}
	d.received = d.received.plus(d.backend.received().minus(received))
	after, err := d.process.Used(ctx)
	if err != nil {
		return err
	}
	n := float64(len(took))
	d.cpu = append(d.cpu, float64(after.CPU-before.CPU)/n)
	d.bytes = append(d.bytes, float64(after.Bytes-before.Bytes)/n)
	d.took = append(d.took, took...)
	d.asked += int64(len(warm) + len(took))
	return nil
}

func (d *delivering) ask(ctx context.Context) error {
	return service.Get(ctx, d.client, "http://"+d.process.Requests+"/work")
}

func (d *delivering) line(without *delivering) string {
	added := "– | –"
	if d != without {
		more := make([]float64, len(d.cpu))
		for i := range more {
			more[i] = d.cpu[i] - without.cpu[i]
		}
		added = fmt.Sprintf("%+.1f µs | %+.1f … %+.1f", median(more)/1e3, slices.Min(more)/1e3,
			slices.Max(more)/1e3)
	}
	slices.Sort(d.took)
	at := func(q float64) time.Duration {
		return d.took[int(q*float64(len(d.took)-1))].Round(time.Microsecond)
	}
	requests, rounds, r := float64(len(d.took)), float64(len(d.cpu)), d.received
	return fmt.Sprintf("| %s | %.1f µs | %s | %v | %v | %.1f kB | %.2f | %.0f B | %.1f | %.1f kB |",
		d.name, median(d.cpu)/1e3, added,
		at(0.5), at(0.99), median(d.bytes)/1e3, float64(r.spans)/requests,
		float64(r.spanBytes)/requests,
		float64(r.profiles)/rounds, float64(r.profileBytes)/rounds/1e3)
}
