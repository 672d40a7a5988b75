package profiling_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

// The server's deadline, which is shorter than any profile, is extended by the length of the profile.
func TestServeProfileBeyondTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profiling.FakeEngines(t)
		var n memnet.Network
		s := http.Server{Handler: http.HandlerFunc(profiling.ServeProfile), WriteTimeout: 500 * time.Millisecond}
		l := n.Listen()
		go func() { _ = s.Serve(l) }()
		defer s.Close()
		client := http.Client{Transport: &http.Transport{DialContext: n.Dial, DisableKeepAlives: true}}
		res, err := client.Get("http://" + memnet.Address + "/?seconds=1")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%s, %s: %s", res.Status, res.Header.Get("Content-Type"), body)
		}
		if _, err := profile.ParseData(body); err != nil {
			t.Error(err)
		}
	})
}

// Two profiles by request, at the same time and beside a profiler, are all whole: each
// has the samples of its time.
func TestServeProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes := profiling.FakeEngines(t)
		profiler := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
		fakes.Emit("before", 1)
		var asked sync.WaitGroup
		for range 2 {
			asked.Go(func() {
				began := time.Now()
				w := httptest.NewRecorder()
				profiling.ServeProfile(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?seconds=3", http.NoBody))
				if took := time.Since(began); took != 3*time.Second {
					t.Errorf("it took %v, want three seconds", took)
				}
				if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/octet-stream" {
					t.Errorf("%d, %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
					return
				}
				wantFunctions(t, "a profile by request", w.Body.Bytes(), map[string]int64{"burn": 5})
			})
		}
		synctest.Wait()
		fakes.Emit("burn", 5)
		asked.Wait()
		fakes.Emit("after", 2)
		tr := stop(t, profiler)
		if tr.Stats.Gaps != 0 {
			t.Errorf("the profiler beside has %d gaps", tr.Stats.Gaps)
		}
		var all bytes.Buffer
		if err := tr.WritePprof(&all); err != nil {
			t.Fatal(err)
		}
		wantFunctions(t, "the profiler beside", all.Bytes(), map[string]int64{"before": 1, "burn": 5, "after": 2})
	})
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

// wantFunctions wants so many samples of 10 ms of each function.
func wantFunctions(t *testing.T, what string, data []byte, want map[string]int64) {
	t.Helper()
	p, err := profile.ParseData(data)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	got := map[string]int64{}
	for _, s := range p.Sample {
		got[s.Location[0].Line[0].Function.Name] += s.Value[0]
		if s.Value[1] != s.Value[0]*p.Period || p.Period != int64(10*time.Millisecond) {
			t.Errorf("%s: %d samples stand for %d ns, want as many intervals of 10 ms", what, s.Value[0], s.Value[1])
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s has samples of %v, want %v", what, got, want)
	}
}

func TestServeProfileRefuses(t *testing.T) {
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
			t.Setenv("PERFLINE_PROFILING", c.env)
			w := httptest.NewRecorder()
			profiling.ServeProfile(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/"+c.query, http.NoBody))
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%d: %swant %d: %s", w.Code, w.Body, c.status, c.want)
			}
			if h := w.Header(); w.Body.Len() > 200 || h.Get("Content-Type") != "text/plain; charset=utf-8" || h.Get("X-Go-Pprof") == "" {
				t.Errorf("%d bytes with %v", w.Body.Len(), h)
			}
		})
	}
}

// Only a GET that no page of another site asks for starts a profile: a link on such a page is a GET that guards allow.
func TestServeProfileOfAPage(t *testing.T) {
	for _, c := range []struct {
		method, site string
		status       int
	}{
		{http.MethodPost, "", http.StatusMethodNotAllowed}, {http.MethodHead, "", http.StatusMethodNotAllowed}, {http.MethodGet, "cross-site", http.StatusForbidden},
		{http.MethodGet, "same-site", http.StatusForbidden}, {http.MethodGet, "same-origin", http.StatusOK}, {http.MethodGet, "none", http.StatusOK}, {http.MethodGet, "", http.StatusOK},
	} {
		t.Run(c.method+" "+c.site, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				profiling.FakeEngines(t)
				w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), c.method, "/?seconds=1", strings.NewReader("seconds=3600"))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				if c.site != "" {
					r.Header.Set("Sec-Fetch-Site", c.site)
				}
				began := time.Now()
				profiling.ServeProfile(w, r)
				if w.Code != c.status || time.Since(began) > 2*time.Second {
					t.Errorf("%d after %v: %s", w.Code, time.Since(began), w.Body)
				}
			})
		})
	}
}

// Two profiles are taken at a time, and not a third one.
func TestServeProfileTwoAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profiling.FakeEngines(t)
		ask := func() int {
			w := httptest.NewRecorder()
			profiling.ServeProfile(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?seconds=10", http.NoBody))
			return w.Code
		}
		for range 2 {
			codes := make(chan int, 2)
			for range 2 {
				go func() { codes <- ask() }()
			}
			synctest.Wait()
			if code := ask(); code != http.StatusConflict {
				t.Errorf("the third one has the status %d", code)
			}
			if a, b := <-codes, <-codes; a != http.StatusOK || b != http.StatusOK {
				t.Errorf("two have the statuses %d and %d", a, b)
			}
		}
	})
}

func TestServeProfileWhileOtherCodeProfiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		profiling.FakeEngines(t).Take(true)
		w := httptest.NewRecorder()
		profiling.ServeProfile(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?seconds=1", http.NoBody))
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), profiling.ErrBusy.Error()) {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
	})
}

// When the client goes away the profiler ends: the engine stops.
func TestServeProfileClientGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fakes := profiling.FakeEngines(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		began := time.Now()
		w := httptest.NewRecorder()
		profiling.ServeProfile(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
		if took := time.Since(began); took != 50*time.Millisecond || w.Body.Len() > 0 {
			t.Errorf("it took %v and answered %d bytes, want until the client was gone, and none", took, w.Body.Len())
		}
		synctest.Wait()
		if fakes.Running() {
			t.Error("the engine goes on without its client")
		}
	})
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
