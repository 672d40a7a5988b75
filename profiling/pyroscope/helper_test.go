package pyroscope_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// A received is a request as the server reads it.
type received struct {
	path    string
	host    string
	header  http.Header
	labels  map[string]string
	id      string
	profile *pprofpb.Profile
}

// kinds are the names of kinds by the label __name__.
var kinds = map[string]string{"process_cpu": "cpu", "memory": "heap", "goroutines": "goroutine", "mutex": "mutex", "block": "block", "goroutine_leak": "goroutineleak"}

func (r *received) kind() string { return kinds[r.labels["__name__"]] }

// receive reads a request to push a profile, and nothing else.
func receive(req *http.Request) (*received, error) {
	if typ := req.Header.Get("Content-Type"); req.Method != http.MethodPost || typ != "application/proto" || req.Header.Get("Connect-Protocol-Version") != "1" {
		return nil, fmt.Errorf("%s of %q by Connect's protocol %q", req.Method, typ, req.Header.Get("Connect-Protocol-Version"))
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	labels, id, data, err := decodePush(body)
	if err != nil {
		return nil, err
	}
	r := &received{path: req.URL.Path, host: req.URL.Scheme + "://" + req.URL.Host, header: req.Header, labels: labels, id: id}
	r.profile, err = pprofpb.ParseData(data)
	return r, err
}

// A network plays a server without a network, for tests in a bubble. A test reads the requests when none is under way.
type network struct {
	t      *testing.T
	mu     sync.Mutex
	got    []*received
	at     []time.Time
	answer func(kind string, n int) (status int, body string) // to request n of all; nil is 200
	asks   bool                                               // with a status of 429, for two minutes
}

// away is the status of a server that is not there.
const away = -1

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	r, err := receive(req)
	if err != nil {
		n.t.Errorf("the request is none of Pyroscope's: %v", err)
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got, n.at = append(n.got, r), append(n.at, time.Now())
	status, body := http.StatusOK, ""
	if n.answer != nil {
		status, body = n.answer(r.kind(), len(n.got))
	}
	if status == away {
		return nil, errors.New("connection refused")
	}
	header := http.Header{}
	if n.asks && status == http.StatusTooManyRequests {
		header.Set("Retry-After", "120")
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Header: header, Request: req}, nil
}

// set changes how it answers.
func (n *network) set(status int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = func(string, int) (int, string) { return status, "" }
}

// kinds are the kinds of all requests.
func (n *network) kinds() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var kinds []string
	for _, r := range n.got {
		kinds = append(kinds, r.kind())
	}
	return strings.Join(kinds, " ")
}

func (n *network) of(kind string) (got []*received) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.got {
		if r.kind() == kind {
			got = append(got, r)
		}
	}
	return got
}

const sampleInterval = 10 * time.Millisecond

// played is a profiler whose traces the test makes.
type played struct {
	mu       sync.Mutex
	at       time.Duration   // where the trace that comes next starts
	lengths  []time.Duration // of the traces to come, then they are of a second
	samples  int             // of each trace; 0 means 3
	idle     bool            // there are none
	cpuTime  time.Duration   // of each trace; 0 is unknown
	stopped  bool
	full     func()
	err      error // of Stop
	final    *profile.Trace
	stopNext bool                    // the next trace is the last
	hold     chan struct{}           // Stop waits for it, if there is one
	contexts []profile.SampleContext // of the samples, in turn
}

func (p *played) next() *profile.Trace {
	length := time.Second
	if len(p.lengths) > 0 {
		length, p.lengths = p.lengths[0], p.lengths[1:]
	}
	t := &profile.Trace{
		Frames: []profile.Frame{{Name: "main.work", ResourceID: profile.None}}, Stacks: []profile.Stack{{FrameID: 0, ParentID: profile.None}},
		Origin: time.Unix(0, 0), Interval: sampleInterval, Started: p.at, Stopped: p.at + length, CPUTime: p.cpuTime,
		Stats: profile.Stats{Lost: 1, Gaps: 1, GapTime: time.Millisecond, BusyGaps: 1, BusyTime: time.Microsecond},
	}
	n := p.samples
	if n == 0 {
		n = 3
	}
	if p.idle {
		n = 0
	}
	t.Contexts = p.contexts
	for i := range n {
		context := profile.None
		if len(p.contexts) > 0 {
			context = i % len(p.contexts)
		}
		t.Samples = append(t.Samples, profile.Sample{Timestamp: p.at, ContextID: context, Count: 1, Weight: sampleInterval})
	}
	p.at += length
	return t
}

func (p *played) TakeTrace() (*profile.Trace, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopNext {
		p.stopped = true
	}
	if p.stopped {
		return p.stop()
	}
	return p.next(), nil
}

func (p *played) Stop() (*profile.Trace, error) {
	if p.hold != nil {
		<-p.hold
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	return p.stop()
}

func (p *played) stop() (*profile.Trace, error) {
	if p.final == nil {
		p.final = p.next()
	}
	return p.final, p.err
}

func (p *played) State() profiling.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return profiling.Stopped
	}
	return profiling.Started
}

func (p *played) Engine() profile.Engine { return "played" }

func (p *played) Fallback() string { return "a reason" }

// play starts a pusher in a process that never blocked, since another test may have, with these profilers, one after the other, the last of which lasts.
func play(t *testing.T, c pyroscope.Config, now func() time.Time, profilers ...*played) profiling.Exporter {
	t.Helper()
	return playOver(t, nil, c, now, profilers...)
}

// playOver is play with the pusher's own HTTP client over a network in memory. The profiles of the runtime are as small as they can
// be: what is in them costs the test time.
func playOver(t *testing.T, n *memnet.Network, c pyroscope.Config, now func() time.Time, profilers ...*played) profiling.Exporter {
	t.Helper()
	if c.ServerAddress == "" {
		c.ServerAddress = "http://server"
	}
	if c.ApplicationName == "" {
		c.ApplicationName = "app"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Resource = service("app")
	of := pyroscope.Process{Now: now, Runtime: 2, Profiler: func(full func()) (pyroscope.Profiler, error) {
		p := profilers[0]
		if len(profilers) > 1 {
			profilers = profilers[1:]
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.stopped {
			return nil, fmt.Errorf("no more profilers")
		}
		p.full = full
		return p, nil
	}}
	if n != nil {
		of.Dial, of.Runtime = n.Dial, 0
		for _, kind := range []string{"heap", "goroutine"} {
			of.Snapshots = append(of.Snapshots, pyroscope.Snapshot{Kind: kind, Take: onlyLeak.Write})
		}
	}
	p, err := pyroscope.StartProcess(c, of)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return p
}

// A testLog keeps what is logged, for a test to count lines. It may be used concurrently.
type testLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *testLog) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// want fails unless the lines have these texts, one each.
func (l *testLog) want(t *testing.T, texts ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.FieldsFunc(l.buf.String(), func(r rune) bool { return r == '\n' })
	bad := len(lines) != len(texts)
	for i := range min(len(lines), len(texts)) {
		bad = bad || !strings.Contains(lines[i], texts[i])
	}
	if bad {
		t.Errorf("log:\n%s\nwant %d lines with %q", l.buf.String(), len(texts), texts)
	}
}

// wantStats fails unless each profile is counted once and the counts are these.
func wantStats(t *testing.T, got, want profiling.ExporterStats) {
	t.Helper()
	if got.Accepted != got.Delivered+got.Refused+got.Unanswered+got.Dropped+got.Pending {
		t.Errorf("%+v do not add up", got)
	}
	if got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}
