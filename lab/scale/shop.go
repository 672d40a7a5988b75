package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/perfline/perfline/integration/backend"
)

// shopRate is the load that the shop gives itself, in requests a second.
const shopRate = 100

// A shopRun is what the shop of the examples sends: real spans with attributes and events,
// and real profiles.
type shopRun struct {
	batch         batch         // of its spans
	spanBytes     float64       // of a span in OTLP, not compressed
	requestSpans  float64       // of a request
	requestWire   float64       // bytes of a request's spans on the wire, not compressed
	compressed    float64       // the share of a batch that gzip leaves
	length        time.Duration // of the run
	interval      time.Duration // between uploads of profiles
	profiles      int           // that Pyroscope took
	profileWire   float64       // bytes of a profile from the shop to Pyroscope
	profileStored float64       // bytes of a profile in Pyroscope's blocks
}

// runShop runs the shop with its spans in a sink and its profiles in Pyroscope.
func runShop(ctx context.Context, length, interval time.Duration) (s shopRun, err error) {
	dir, err := os.MkdirTemp("", "scale")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	program, err := backend.BuildShop(ctx, dir)
	if err != nil {
		return s, err
	}
	spans, err := startSink(ctx)
	if err != nil {
		return s, err
	}
	defer spans.stop()
	pyroscope, err := backend.StartPyroscope(ctx)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, pyroscope.Stop()) }()
	empty, err := pyroscope.Stored()
	if err != nil {
		return s, err
	}
	toProfiles, err := backend.NewProxy(ctx, pyroscope.URL())
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, toProfiles.Close()) }()
	toSpans, err := backend.NewProxy(ctx, spans.address)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, toSpans.Close()) }()

	cmd := exec.CommandContext(ctx, program, "-for", length.String(), "-rps",
		strconv.Itoa(shopRate))
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+toSpans.URL(),
		"PYROSCOPE_SERVER_ADDRESS="+toProfiles.URL(), "PYROSCOPE_UPLOAD_INTERVAL="+
			interval.String())
	if out, err := cmd.CombinedOutput(); err != nil { // also if anything was lost
		return s, fmt.Errorf("the shop: %w\n%s", err, out)
	}
	s.length, s.interval = length, interval
	taken := spans.taken()
	if s.profiles, err = pyroscope.Taken(ctx); err != nil {
		return s, err
	}
	if s.profiles == 0 || taken.requests == 0 || taken.failed > 0 {
		return s, fmt.Errorf(
			"the shop sent %d profiles and %d requests, of which %d failed: must be some, some and none", s.profiles, taken.requests, taken.failed)
	}
	profileBytes, _ := toProfiles.Bytes()
	s.profileWire = float64(profileBytes) / float64(s.profiles)
	wire, _ := toSpans.Bytes()
	s.requestWire = float64(wire) / float64(taken.requests)
	s.requestSpans = float64(taken.spans) / float64(taken.requests)
	s.spanBytes = float64(taken.bytes) / float64(taken.spans)
	if s.batch, err = spans.batch(); err != nil {
		return s, err
	}
	if s.compressed, err = compressed(s.batch); err != nil {
		return s, err
	}
	// Its end writes what it has in memory into a block.
	if err := pyroscope.Terminate(); err != nil {
		return s, err
	}
	stored, err := pyroscope.Stored()
	s.profileStored = float64(stored-empty) / float64(s.profiles)
	return s, err
}

// compressed returns the share of b that gzip leaves.
func compressed(b batch) (share float64, err error) {
	request, err := b.renewed(1).MarshalProto()
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(request); err != nil {
		return 0, err
	}
	err = w.Close()
	return float64(out.Len()) / float64(len(request)), err
}

// profilesPerSecond is how many profiles a service sends each second. The run had an upload at the
// end of each interval, and one at its own end.
func (s shopRun) profilesPerSecond() float64 {
	uploads := float64(s.length/s.interval) + 1
	return float64(s.profiles) / uploads / s.interval.Seconds()
}
