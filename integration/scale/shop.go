package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/shopprofiles"
	"github.com/perfline/perfline/integration/trial"
)

// shopRate is the load that the shop gives itself, in requests a second.
const shopRate = 100

// shopped is what the shop of the examples sends: real spans with attributes and events,
// and real profiles.
type shopped struct {
	batch         *batch        // of its spans
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

// shop runs the shop with its spans in a sink and its profiles in Pyroscope.
func shop(ctx context.Context, length, interval time.Duration) (s shopped, err error) {
	dir, err := os.MkdirTemp("", "scale")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	program, err := shopprofiles.BuildShop(ctx, dir)
	if err != nil {
		return s, err
	}
	spans, err := startSink(ctx, true)
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
	toProfiles, err := trial.NewProxy(ctx, pyroscope.URL())
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, toProfiles.Close()) }()
	toSpans, err := trial.NewProxy(ctx, spans.address)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, toSpans.Close()) }()

	cmd := exec.CommandContext(ctx, program, "-for", length.String(), "-rps", strconv.Itoa(shopRate))
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+toSpans.URL(),
		"PYROSCOPE_SERVER_ADDRESS="+toProfiles.URL(), "PYROSCOPE_UPLOAD_INTERVAL="+interval.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		return s, fmt.Errorf("the shop: %w\n%s", err, out)
	}
	s.length, s.interval = length, interval
	if s.profiles, err = profilesSent(out); err != nil {
		return s, err
	}
	requests, err := requestsSent(out)
	if err != nil {
		return s, err
	}
	profileBytes, _ := toProfiles.Bytes()
	s.profileWire = float64(profileBytes) / float64(s.profiles)
	spanBytes, _ := toSpans.Bytes()
	s.requestWire = float64(spanBytes) / float64(requests)
	s.requestSpans = float64(spans.spans.Load()) / float64(requests)
	if s.batch, err = spans.batch(); err != nil {
		return s, err
	}
	if s.compressed, err = compressed(s.batch.request); err != nil {
		return s, err
	}
	s.spanBytes = float64(spans.bytes.Load()) / float64(spans.spans.Load())
	// Its end writes what it has in memory into a block.
	if err := pyroscope.Terminate(); err != nil {
		return s, err
	}
	stored, err := pyroscope.Stored()
	s.profileStored = float64(stored-empty) / float64(s.profiles)
	return s, err
}

var profilesLine = regexp.MustCompile(`(?m)^(\d+) profiles for Pyroscope: (\d+) delivered, (\d+) lost\.$`)

// profilesSent reads how many profiles the shop says that it has delivered.
func profilesSent(output []byte) (int, error) {
	m := profilesLine.FindSubmatch(output)
	if m == nil {
		return 0, fmt.Errorf("the shop does not say what became of its profiles:\n%s", output)
	}
	if string(m[2]) == "0" || string(m[3]) != "0" {
		return 0, fmt.Errorf("of the shop's profiles %s were delivered and %s lost: must be some, and none", m[2], m[3])
	}
	return strconv.Atoi(string(m[2]))
}

var requestsLine = regexp.MustCompile(`(?m)^load: .* (\d+) requests  (\d+) failed$`)

// requestsSent reads how many requests the shop says that it has answered.
func requestsSent(output []byte) (int, error) {
	all := requestsLine.FindAllSubmatch(output, -1)
	if all == nil {
		return 0, fmt.Errorf("the shop does not say how many requests it has answered:\n%s", output)
	}
	last := all[len(all)-1]
	if string(last[1]) == "0" || string(last[2]) != "0" {
		return 0, fmt.Errorf("the shop had %s requests, and %s failed: must be some, and none", last[1], last[2])
	}
	return strconv.Atoi(string(last[1]))
}

// compressed returns the share of b that gzip leaves.
func compressed(b []byte) (share float64, err error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		return 0, err
	}
	err = w.Close()
	return float64(out.Len()) / float64(len(b)), err
}

// perSecond is how many profiles a service sends each second: those of an upload, of which
// there is one at the end of each interval and one at the end of the run.
func (s shopped) perSecond() float64 {
	uploads := float64(s.length/s.interval) + 1
	return float64(s.profiles) / uploads / s.interval.Seconds()
}
