package pyroscope

import (
	"bytes"
	"context"
	"encoding/json"
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
	"github.com/grafana/pyroscope-go/upstream"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// A received is a request as the server reads it.
type received struct {
	path, name, from, until, spy, rate, units, aggregation string
	header                                                 http.Header
	profile                                                *pprofpb.Profile
	types                                                  map[string]*upstream.SampleType
}

// kind tells profiles apart by the types of their values.
func (r *received) kind() string {
	switch r.profile.SampleType[0].Type {
	case "samples":
		return "cpu"
	case "alloc_objects":
		return "heap"
	case "contentions":
		return r.types["delay"].DisplayName
	default:
		return r.profile.SampleType[0].Type
	}
}

func receive(req *http.Request) (*received, error) {
	q := req.URL.Query()
	r := &received{
		path: req.URL.Path, name: q.Get("name"), from: q.Get("from"), until: q.Get("until"), spy: q.Get("spyName"),
		rate: q.Get("sampleRate"), units: q.Get("units"), aggregation: q.Get("aggregationType"), header: req.Header,
	}
	form, err := req.MultipartReader()
	if err != nil {
		return nil, err
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		switch part.FormName() {
		case "profile":
			r.profile, err = pprofpb.Parse(part)
		case "sample_type_config":
			err = json.NewDecoder(part).Decode(&r.types)
		default:
			err = fmt.Errorf("part %q", part.FormName())
		}
		if err != nil {
			return nil, err
		}
	}
}

// A network is a server without one, so that it may be used in a bubble. What it got is
// for the test to read when nothing is under way.
type network struct {
	t      *testing.T
	mu     sync.Mutex
	got    []*received
	at     []time.Time
	answer func(kind string, n int) (status int, body string) // of request n of all; nil is 200
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
	if status == http.StatusTooManyRequests {
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

// kinds are those of all requests.
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

// played is a session whose traces the test makes.
type played struct {
	mu       sync.Mutex
	at       time.Duration   // where the trace that comes next starts
	lengths  []time.Duration // of the traces to come, then they are of a second
	samples  int             // of each trace; 0 means 3
	stopped  bool
	full     func()
	err      error // of Stop
	final    *profile.Trace
	stopNext bool          // the next trace is the last
	hold     chan struct{} // Stop waits for it, if there is one
}

func (p *played) next() *profile.Trace {
	length := time.Second
	if len(p.lengths) > 0 {
		length, p.lengths = p.lengths[0], p.lengths[1:]
	}
	t := &profile.Trace{
		Frames: []profile.Frame{{Name: "main.work", ResourceID: profile.None}}, Stacks: []profile.Stack{{FrameID: 0, ParentID: profile.None}},
		Origin: time.Unix(0, 0), Interval: sampleInterval, Started: p.at, Stopped: p.at + length,
		Stats: profile.Stats{Lost: 1, Gaps: 1, GapTime: time.Millisecond, BusyGaps: 1, BusyTime: time.Microsecond},
	}
	n := p.samples
	if n == 0 {
		n = 3
	}
	for range n {
		t.Samples = append(t.Samples, profile.Sample{Timestamp: p.at, ContextID: profile.None, Count: 1, Weight: sampleInterval})
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

func (p *played) Engine() string { return "played" }

func (p *played) Fallback() string { return "a reason" }

// quiet are the snapshots of a process that never blocked: another test may have.
func quiet(fit fitter) []snapshot { return snapshots(fit)[:2] }

// play starts a pusher with these sessions, one after the other, the last of which lasts.
func play(t *testing.T, c Config, now func() time.Time, sessions ...*played) *Pusher {
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
	p, err := start(c, process{now: now, snapshots: quiet, session: func(full func()) (session, error) {
		s := sessions[0]
		if len(sessions) > 1 {
			sessions = sessions[1:]
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.stopped {
			return nil, fmt.Errorf("no more sessions")
		}
		s.full = full
		return s, nil
	}})
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
func wantStats(t *testing.T, got, want Stats) {
	t.Helper()
	if got.Accepted != got.Sent+got.Refused+got.Unanswered+got.Overflow+got.Pending {
		t.Errorf("%+v do not add up", got)
	}
	if got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}
