package main

import (
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
	proxy, err := trial.NewProxy(ctx, pyroscope.URL())
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()

	cmd := exec.CommandContext(ctx, program, "-for", length.String(), "-rps", strconv.Itoa(shopRate))
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+spans.address,
		"PYROSCOPE_SERVER_ADDRESS="+proxy.URL(), "PYROSCOPE_UPLOAD_INTERVAL="+interval.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		return s, fmt.Errorf("the shop: %w\n%s", err, out)
	}
	s.length, s.interval = length, interval
	if s.profiles, err = profilesSent(out); err != nil {
		return s, err
	}
	up, _ := proxy.Bytes()
	s.profileWire = float64(up) / float64(s.profiles)
	if s.batch, err = spans.batch(); err != nil {
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

// perSecond is how many profiles a service sends each second: those of an upload, of which
// there is one at the end of each interval and one at the end of the run.
func (s shopped) perSecond() float64 {
	uploads := float64(s.length/s.interval) + 1
	return float64(s.profiles) / uploads / s.interval.Seconds()
}
