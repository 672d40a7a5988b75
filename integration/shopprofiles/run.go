// Package shopprofiles runs the shop with its traces in Jaeger and its profiles in
// Pyroscope, and finds out what arrived there.
package shopprofiles

import (
	"bytes"
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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/integration/backend"
)

// Options say how the shop is run.
type Options struct {
	Jaeger    *backend.Jaeger
	Pyroscope *backend.Pyroscope
	Shop      string        // its program
	Length    time.Duration // of its load, at least six times Asked
	RPS       int           // requests a second of its load
	Asked     time.Duration // whole seconds of each of three profiles by /debug/pprof/profile
}

// BuildShop builds the shop into dir and returns its program, for a command that runs in
// integration's folder.
func BuildShop(ctx context.Context, dir string) (string, error) {
	shop := filepath.Join(dir, "shop")
	build := exec.CommandContext(ctx, "go", "build", "-o", shop, "./shop")
	build.Dir = filepath.Join("..", "examples")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the shop: %w\n%s", err, out)
	}
	return shop, nil
}

// Run runs the shop with a load. Meanwhile it samples itself, on demand and all the
// time, and is asked for three profiles, one after the other.
func Run(ctx context.Context, o Options) (*Report, error) {
	dir, err := os.MkdirTemp("", "shopprofiles")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	run := strings.ToLower(rand.Text())
	r := &Report{Run: run}
	onDemand := filepath.Join(dir, "on-demand.pprof")
	cmd := exec.CommandContext(ctx, o.Shop, "-for", o.Length.String(), "-rps", strconv.Itoa(o.RPS), "-profile", onDemand)
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+o.Jaeger.OTLPGRPC(), "OTEL_RESOURCE_ATTRIBUTES=run="+run,
		"PYROSCOPE_SERVER_ADDRESS="+o.Pyroscope.URL(), "PYROSCOPE_LABELS=run="+run)
	out := &output{said: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	asked := make(chan error, 1)
	go func() { asked <- r.ask(ctx, o, out, cmd.Process.Pid) }()
	err = cmd.Wait()
	out.end()
	if err := errors.Join(err, <-asked); err != nil {
		return nil, fmt.Errorf("the shop: %w\n%s", err, out)
	}
	r.Output = out.String()
	r.ProcessCPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return r, r.collect(ctx, o, dir, onDemand)
}

// ask asks the shop for profiles while it runs.
func (r *Report) ask(ctx context.Context, o Options, out *output, pid int) error {
	url, err := out.address(ctx)
	if err != nil {
		return err
	}
	pause := o.Length/6 - o.Asked/2
	for range 3 {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		before, err := cpuTime(pid)
		if err != nil {
			return err
		}
		p, err := get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", url, int(o.Asked.Seconds())))
		if err != nil {
			return err
		}
		after, err := cpuTime(pid)
		if err != nil {
			return err
		}
		r.Asked = append(r.Asked, Share{CPU: total(p), Of: after - before})
		pause = o.Length/3 - o.Asked
	}
	return nil
}

func get(ctx context.Context, url string) (*profile.Profile, error) {
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

// total is the profile's CPU time.
func total(p *profile.Profile) (sum time.Duration) {
	for _, s := range p.Sample {
		sum += time.Duration(s.Value[len(s.Value)-1])
	}
	return sum
}

// cpuTime is what another process has used, in the kernel's ticks of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(stat, []byte(") ")) // a name may hold anything
	fields := strings.Fields(string(after))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %q", pid, stat)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	kernel, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+kernel) * 10 * time.Millisecond, errors.Join(err, err2)
}

// An output is what the shop prints.
type output struct {
	mu   sync.Mutex // guards what follows
	buf  bytes.Buffer
	over bool
	said chan struct{} // closed when the address was said, or never will be
}

var address = regexp.MustCompile(`(?m)^shop: (http://\S+)$`)

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p)
	if !o.over && address.Match(o.buf.Bytes()) {
		o.over = true
		close(o.said)
	}
	return len(p), nil
}

func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over = true
		close(o.said)
	}
}

// address is where the shop listens.
func (o *output) address(ctx context.Context) (string, error) {
	select {
	case <-o.said:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	m := address.FindStringSubmatch(o.String())
	if m == nil {
		return "", errors.New("it ended before it said its address")
	}
	return m[1], nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
