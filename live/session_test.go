package live_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

// startSession starts one as the page does.
func (p *program) startSession(argument string) uint32 {
	p.t.Helper()
	var id struct{ SessionID uint32 }
	p.call("StartProfiler", argument, &id)
	return id.SessionID
}

// burn uses CPU time of its thread, so that a busy machine takes no samples away, and more of it until all functions return true.
func burn(d time.Duration, until ...func() bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := cputime.Thread
	if used() == 0 { // this system does not tell
		start := time.Now()
		used = func() time.Duration { return time.Since(start) }
	}
	x := uint64(1)
	for end := used() + d; used() < end || slices.ContainsFunc(until, func(is func() bool) bool { return !is() }); {
		for range 10_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	sink = x
}

// sampled returns a function that reports whether the session by the wall clock has taken a sample of all goroutines since sampled was
// called: the machine may give no CPU time to the sampler for long.
func (p *program) sampled() func() bool {
	taken := func() uint64 { return p.pl.Sessions().Statuses()[0].Samples }
	// The samples of one tick come one after the other, no more than one for each goroutine. Those of a tick before may still come.
	enough := taken() + 2*uint64(runtime.NumGoroutine())
	return func() bool { return taken() >= enough }
}

var sink uint64

type (
	profileHead struct {
		Title, Engine, Hidden  string
		Session                uint32
		Samples, Requests      int
		Total, NoStack, Length float64
	}
	functionRow struct {
		Name, Kind, Module, File string
		Line, HotLine            int
		Self, Total              float64
	}
	flameNode struct {
		Parent, Function int
		Total, Self      float64
	}
	flame struct {
		profileHead
		Nodes     []flameNode
		Functions []functionRow
		Cut       int
	}
)

// A session by the page: started, stopped, had as files and as flame graphs, found by its request, released.
func TestSession(t *testing.T) {
	p := start(t, allowed, live.Config{})
	id := p.startSession(`{"startMode":"START_MODE_IMMEDIATE"}`)
	if o := p.overview(); len(o.Sessions.Sessions) != 1 || o.Sessions.Sessions[0].State != "recording" || o.Sessions.Refused != "" {
		t.Errorf("sessions are %+v", o.Sessions)
	}
	p.get("data/v1/sessions/1/json", http.StatusNotFound, nil) // it is not ready
	p.serve("GET /work", "/work", func(_ http.ResponseWriter, r *http.Request) {
		defer marks.Time(r.Context(), "burning").End()
		burn(400 * time.Millisecond)
	})
	p.call("StopProfiler", `{"sessionID":1}`, nil)
	if o := p.overview(); o.Sessions.Sessions[0].State != "ready" {
		t.Errorf("sessions are %+v", o.Sessions)
	}

	d := p.detail()
	if d.Session != id {
		t.Fatalf("the request has session %d, want %d", d.Session, id)
	}
	var hot []string
	for _, r := range d.Rows {
		for _, f := range r.Hot {
			hot = append(hot, r.Name+": "+f.Name)
		}
	}
	if !strings.Contains(strings.Join(hot, " "), "burning: live_test.burn") {
		t.Errorf("hot are %q", hot)
	}
	if got, want := p.requestFiles(d, "burning"), []string{"svg", "firefox", "perfetto", "speedscope", "pprof", "otlp"}; !slices.Equal(got, want) {
		t.Errorf("the request has the files %q, want %q", got, want)
	}
	for _, c := range []struct{ name, query, title string }{
		{"request", "&trace=" + d.Trace + "&span=" + d.Span, "GET /work"},
		{"route", fmt.Sprintf("&route=%d", p.contents(id)["GET /work"].Route), "all requests GET /work"},
		{"session", "", "session 1"},
		{"what runs", "&running=1", "session 1"},
	} {
		t.Run("flame graph of the "+c.name, func(t *testing.T) {
			p.t = t
			var f flame
			p.get("data/v1/profile/flame?session=1"+c.query, http.StatusOK, &f)
			found := false
			for i, n := range f.Nodes {
				found = found || strings.HasSuffix(f.Functions[n.Function].Name, "live_test.burn") && f.Functions[n.Function].Kind == "own"
				if n.Parent >= i || n.Parent < 0 && i > 0 || n.Parent >= 0 && n.Total > f.Nodes[n.Parent].Total || n.Self > n.Total {
					t.Errorf("node %d is %+v", i, n)
				}
			}
			if !found || f.Title != c.title || f.Samples == 0 {
				t.Errorf("got %+v", f)
			}
		})
	}
	p.t = t
	p.get("data/v1/profile/flame?session=1&trace="+d.Trace+"&span=0102030405060708", http.StatusNotFound, nil)
	p.get("data/v1/profile/flame?session=1&route=999999", http.StatusNotFound, nil)
	p.get("data/v1/profile/flame?session=1&route=GET+/work", http.StatusNotFound, nil)
	p.get("data/v1/profile/flame?session=1&timeline=999999", http.StatusNotFound, nil)
	if got, want := p.files(), []string{"firefox", "speedscope", "pprof", "json"}; !slices.Equal(got, want) {
		t.Errorf("the session has the files %q, want %q", got, want)
	}
	p.get("data/v1/sessions/1/nothing", http.StatusNotFound, nil)
	p.call("ReleaseSession", `{"sessionID":1}`, nil)
	p.get("data/v1/sessions/1/json", http.StatusNotFound, nil)
	if d := p.detail(); d.Session != 0 || len(d.Rows[0].Hot) > 0 {
		t.Errorf("released, but the request has session %d", d.Session)
	}
}

// files gets each file that session 1 is listed to have, and returns their formats.
func (p *program) files() (listed []string) {
	p.t.Helper()
	var c contents
	p.get("data/v1/sessions/1", http.StatusOK, &c)
	for _, f := range c.Files {
		listed = append(listed, f.Format)
		rec := p.do(ask(http.MethodGet, "data/v1/sessions/1/"+f.Format, ""))
		var err error
		switch f.Format {
		case "json":
			err = json.Unmarshal(rec.Body.Bytes(), new(struct{ Resources, Frames, Stacks, Samples []any }))
		case "pprof", "allocs", "mutex", "block":
			_, err = pprofpb.ParseData(rec.Body.Bytes())
		default:
			err = json.Unmarshal(rec.Body.Bytes(), new(map[string]any))
		}
		if err != nil || rec.Code != http.StatusOK || !strings.HasPrefix(rec.Header().Get("Content-Disposition"), `attachment; filename="session-1.`) {
			p.t.Errorf("%s: %v, status %d, %v", f.Format, err, rec.Code, rec.Header())
		}
		if f.Name == "" || f.Use == "" {
			p.t.Errorf("%s: has no name or no use: %+v", f.Format, f)
		}
	}
	return listed
}

// A session has the profiles of the process that it was started with.
func TestSessionWithProcessProfiles(t *testing.T) {
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	p := start(t, allowed, live.Config{})
	p.startSession(`{"startMode":"START_MODE_IMMEDIATE","noSamples":true,"process":true}`)
	p.call("StopProfiler", `{"sessionID":1}`, nil)
	if got, want := p.files(), []string{"firefox", "speedscope", "allocs", "mutex"}; !slices.Equal(got, want) {
		t.Errorf("the session has the files %q, want %q", got, want)
	}
	rec := p.do(ask(http.MethodGet, "data/v1/sessions/1/block", ""))
	if rec.Code != http.StatusNotFound || !strings.Contains(rec.Body.String(), "no such profile of the whole process") {
		t.Errorf("the profile of a program without a rate: status %d, %s", rec.Code, rec.Body)
	}
}

func TestSessionWithoutSamples(t *testing.T) {
	p := start(t, allowed, live.Config{})
	id := p.startSession(`{"startMode":"START_MODE_IMMEDIATE","noSamples":true}`)
	p.call("StopProfiler", `{"sessionID":`+strconv.Itoa(int(id))+`}`, nil)
	if got, want := p.files(), []string{"firefox", "speedscope"}; !slices.Equal(got, want) {
		t.Errorf("the session has the files %q, want %q", got, want)
	}
	for _, path := range []string{"data/v1/sessions/1/json", "data/v1/sessions/1/pprof", "data/v1/profile/flame?session=1"} {
		rec := p.do(ask(http.MethodGet, path, ""))
		if rec.Code != http.StatusNotFound || !strings.Contains(rec.Body.String(), "took no samples") || rec.Header().Get("Content-Disposition") != "" {
			t.Errorf("%s: status %d, %v, %s", path, rec.Code, rec.Header(), rec.Body)
		}
	}
}
