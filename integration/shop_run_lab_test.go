//go:build lab

package integration

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/integration/backend"
)

// runShop runs the shop for a while, with its traces in Jaeger and its profiles in Pyroscope.
// Meanwhile the shop records a session of itself, and is asked for three profiles of some
// seconds each, one after the other.
func runShop(ctx context.Context, t *testing.T, length, seconds time.Duration) *shopReport {
	t.Helper()
	r := &shopReport{run: strings.ToLower(rand.Text())}
	session := filepath.Join(t.TempDir(), "session.pprof")
	cmd := exec.CommandContext(ctx, buildShop(t), "-for", length.String(), "-rps", "150", "-profile", session)
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+jaeger.OTLPGRPC(), "OTEL_RESOURCE_ATTRIBUTES=run="+r.run,
		"PYROSCOPE_SERVER_ADDRESS="+pyroscope.URL(), "PYROSCOPE_LABELS=run="+r.run)
	out := &output{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running, ended := context.WithCancel(ctx)
	defer ended()
	profiles := make(chan error, 1)
	go func() { profiles <- r.profileOnDemand(running, out, cmd.Process.Pid, length, seconds) }()
	err := cmd.Wait()
	ended()
	if err := errors.Join(err, <-profiles); err != nil {
		t.Fatalf("the shop: %v\n%s", err, out)
	}
	r.processCPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err := r.collect(ctx, session); err != nil {
		t.Fatal(err)
	}
	return r
}

// profileOnDemand asks the shop for profiles while it runs.
func (r *shopReport) profileOnDemand(ctx context.Context, out *output, pid int, length, seconds time.Duration) error {
	url, err := shopURL(ctx, out)
	if err != nil {
		return err
	}
	pause := length/6 - seconds/2
	for range 3 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		before, err := backend.ProcessCPU(pid)
		if err != nil {
			return err
		}
		p, err := getProfile(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", url, int(seconds.Seconds())))
		if err != nil {
			return err
		}
		after, err := backend.ProcessCPU(pid)
		if err != nil {
			return err
		}
		r.onDemand = append(r.onDemand, cpuShare{sampled: cpuTime(byFunction(p, anySample)), used: after - before})
		pause = length/3 - seconds
	}
	return nil
}

func getProfile(ctx context.Context, url string) (*profile.Profile, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, errors.Join(err, fmt.Errorf("%s: %s: %s", url, res.Status, body))
	}
	return profile.ParseData(body)
}

var shopAddress = regexp.MustCompile(`(?m)^shop: (http://\S+)$`)

// shopURL is where the shop listens.
func shopURL(ctx context.Context, o *output) (string, error) {
	if err := o.await(ctx, shopAddress); err != nil {
		return "", err
	}
	return shopAddress.FindStringSubmatch(o.String())[1], nil
}
