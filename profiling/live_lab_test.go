//go:build lab

package profiling_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling"
)

// Profilers that come and go, one after the other and at once, leave nothing behind,
// and the profiler free.
func TestLabProfilersComeAndGo(t *testing.T) {
	profiling.LiveEngines(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 50 {
				p, err := profiling.Start(t.Context(), profiling.Options{SampleInterval: time.Duration(i+k) * time.Millisecond, MaxBufferSize: 1 + k, Wall: i%4 == 0})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := p.Stop(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("after the last profiler: %v", err)
	}
	pprof.StopCPUProfile()
}

// Processors come and go while a profiler runs.
func TestLabGOMAXPROCSChanges(t *testing.T) {
	profiling.LiveEngines(t)
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	for _, n := range []int{1, 4, 1, 8} {
		runtime.GOMAXPROCS(n)
		profiling.ForceSample()
	}
	if tr := stop(t, p); len(tr.Samples) < 4 || tr.Stats.Gaps != 0 {
		t.Errorf("%d samples and %d gaps, want the 4 forced ones at least, and none", len(tr.Samples), tr.Stats.Gaps)
	}
}

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

// serving returns the address of a server with a write deadline that is shorter than any profile.
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
func TestLabServeProfile(t *testing.T) {
	profiling.LiveEngines(t)
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

// wantBurnt wants most of the CPU time in burn: the process does little else, on a busy machine, too.
func wantBurnt(t *testing.T, what string, data []byte) {
	t.Helper()
	p, err := pprofpb.ParseData(data)
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
