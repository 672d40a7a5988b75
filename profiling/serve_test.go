package profiling_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

func get(t *testing.T, ctx context.Context, url string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, body
}

// serving is a server whose write deadline is shorter than any profile.
func serving(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(profiling.ServeProfile))
	s.Config.WriteTimeout = 500 * time.Millisecond
	s.Start()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	return s.URL
}

// Two profiles by request, at the same time and beside a profiler, are all whole: each
// has the CPU time that was used while it was taken.
func TestServeProfile(t *testing.T) {
	url := serving(t)
	profiler := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	var burning sync.WaitGroup
	burning.Go(func() {
		for ctx.Err() == nil {
			burned = burn(1_000_000)
		}
	})
	var asked sync.WaitGroup
	for range 2 {
		asked.Go(func() {
			began := time.Now()
			res, body := get(t, t.Context(), url+"?seconds=1")
			if took := time.Since(began); took < time.Second {
				t.Errorf("it took %v, want a second", took)
			}
			if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/octet-stream" {
				t.Errorf("%s, %s: %s", res.Status, res.Header.Get("Content-Type"), body)
				return
			}
			wantBurnt(t, "a profile by request", body)
		})
	}
	asked.Wait()
	cancel()
	burning.Wait()
	tr := stop(t, profiler)
	if tr.Stats.Gaps != 0 {
		t.Errorf("the profiler beside has %d gaps", tr.Stats.Gaps)
	}
	var all strings.Builder
	if err := tr.WritePprof(&all); err != nil {
		t.Fatal(err)
	}
	wantBurnt(t, "the profiler beside", []byte(all.String()))
}

// A profile's length is real time, whatever clock the request's timeline has.
func TestServeProfileBesideATimelineWithAClock(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return time.Hour }})
	w := httptest.NewRecorder()
	profiling.ServeProfile(w, httptest.NewRequestWithContext(observer.NewContext(t.Context(), tl), http.MethodGet, "/?seconds=1", http.NoBody))
	p, err := profile.ParseData(w.Body.Bytes())
	if err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if got := time.Duration(p.DurationNanos); got < time.Second {
		t.Errorf("the profile is of %v, want the second that was asked for", got)
	}
}

// wantBurnt wants most of the CPU time in burn: the process does little else, on a busy machine, too.
func wantBurnt(t *testing.T, what string, data []byte) {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	var all, got time.Duration
	for _, s := range p.Sample {
		all += time.Duration(s.Value[1])
		if s.Value[1] != s.Value[0]*p.Period {
			t.Errorf("%s: %d samples stand for %d ns, want as many intervals of %d ns", what, s.Value[0], s.Value[1], p.Period)
		}
		for _, l := range s.Location {
			if strings.HasSuffix(l.Line[0].Function.Name, ".burn") {
				got += time.Duration(s.Value[1])
				break
			}
		}
	}
	if got == 0 || got < all/2 {
		t.Errorf("%s has %v of CPU time in burn, of %v: want most", what, got, all)
	}
}

func TestServeProfileRefuses(t *testing.T) {
	url := serving(t)
	for name, c := range map[string]struct {
		query, env string
		status     int
		want       string
	}{
		"no number":    {"?seconds=5s", "", http.StatusBadRequest, `seconds="5s": must be a whole number between 1 and 3600`},
		"nothing":      {"?seconds=0", "", http.StatusBadRequest, `seconds="0"`},
		"negative":     {"?seconds=-1", "", http.StatusBadRequest, `seconds="-1"`},
		"too long":     {"?seconds=3601", "", http.StatusBadRequest, `seconds="3601"`},
		"forbidden":    {"?seconds=1", "off", http.StatusForbidden, "PERFLINE_PROFILING is off"},
		"misspelt":     {"?seconds=1", "of", http.StatusForbidden, `PERFLINE_PROFILING "of"`},
		"hard to show": {"?seconds=%3Cscript%3E" + strings.Repeat("x", 1000), "", http.StatusBadRequest, `seconds="<script>xxx`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(profiling.EnvVariable, c.env)
			res, body := get(t, t.Context(), url+c.query)
			if res.StatusCode != c.status || !strings.Contains(string(body), c.want) {
				t.Errorf("%s: %swant %d: %s", res.Status, body, c.status, c.want)
			}
			if len(body) > 200 || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" || res.Header.Get("X-Go-Pprof") == "" {
				t.Errorf("%d bytes with %v", len(body), res.Header)
			}
		})
	}
}

func TestServeProfileWhileSomebodyElseProfiles(t *testing.T) {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	res, body := get(t, t.Context(), serving(t)+"?seconds=1")
	if res.StatusCode != http.StatusConflict || !strings.Contains(string(body), profiling.ErrBusy.Error()) {
		t.Errorf("%s: %s", res.Status, body)
	}
}

// When the client goes away the profiler ends: the CPU profiler is free for others.
func TestServeProfileClientGoesAway(t *testing.T) {
	entered, returned := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		defer close(returned)
		profiling.ServeProfile(w, r)
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		time.AfterFunc(50*time.Millisecond, cancel)
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := http.DefaultClient.Do(req); err == nil {
		res.Body.Close()
		t.Error("it answered at once")
	}
	select {
	case <-returned:
	case <-time.After(20 * time.Second): // it was asked for 30
		t.Error("it goes on without its client")
		<-returned
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	pprof.StopCPUProfile()
}

// A leaving client goes away as soon as its profile has begun.
type leaving struct {
	*httptest.ResponseRecorder
	leave func()
}

func (l leaving) SetWriteDeadline(time.Time) error {
	l.leave()
	return nil
}

// No profile is made for a client that has gone away.
func TestServeProfileToAClientThatIsGone(t *testing.T) {
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), http.ServerContextKey, &http.Server{WriteTimeout: time.Hour}))
	w := leaving{httptest.NewRecorder(), cancel}
	profiling.ServeProfile(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/?seconds=3600", http.NoBody))
	if n := w.Body.Len(); n > 0 {
		t.Errorf("%d bytes were written", n)
	}
}
