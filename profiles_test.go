package perfline_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// takesProfiles starts a server that remembers the requests with which it was given profiles.
func takesProfiles(t *testing.T, status int) (url string, requests func() []string) {
	t.Helper()
	var mu sync.Mutex // guards got
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(request))
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// stateOf returns the state of the pipeline's profiler.
func stateOf(pl *perfline.Pipeline) func() profiling.State {
	return func() profiling.State { return pl.Stats().Profiles.State }
}

// Continuous profiling needs only a server's address, in a variable or a field. Profiles
// have the same resource as spans.
func TestProfiles(t *testing.T) {
	for _, how := range []string{"field", "variable"} {
		t.Run(how, func(t *testing.T) {
			url, requests := takesProfiles(t, http.StatusOK)
			c := perfline.Config{Service: "shop", Version: "7"}
			if how == "field" {
				c.Profiles.ServerAddress = url
			} else {
				t.Setenv("PYROSCOPE_SERVER_ADDRESS", url)
			}
			pl, _, log := start(t, c)
			forceSample(stateOf(pl))
			instance := resourceOf(t, pl)["service.instance.id"]
			if err := pl.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			flushed := len(requests())
			if flushed == 0 {
				t.Error("Flush delivered no profile")
			}
			if err := pl.Shutdown(patient(t)); err != nil {
				t.Error(err)
			}
			all := requests()
			if len(all) <= flushed {
				t.Error("Shutdown delivered no profile")
			}
			for _, request := range all {
				for name, value := range map[string]string{"service_name": "shop", "service_version": "7", "service_instance_id": instance} {
					label := string(protowire.AppendString(protowire.AppendTag(protowire.AppendString([]byte("\n"), name), 2, protowire.BytesType), value))
					if !strings.Contains(request, label) {
						t.Errorf("a profile has no label %s=%s of its spans", name, value)
					}
				}
			}
			if s := pl.Stats().Profiles; s.Delivered != uint64(len(all)) || s.Accepted != s.Delivered {
				t.Errorf("%d profiles arrived, counted are %+v", len(all), s)
			}
			if log.Len() > 0 {
				t.Errorf("logged %s", log)
			}
		})
	}
}

func TestProfilesThatAreLost(t *testing.T) {
	url, requests := takesProfiles(t, http.StatusUnauthorized)
	pl, _, log := start(t, perfline.Config{Profiles: pyroscope.Config{ServerAddress: url}})
	forceSample(stateOf(pl))
	err := pl.Shutdown(patient(t))
	var lost *perfline.LostError
	if !errors.As(err, &lost) || lost.Profiles == 0 || lost.Profiles != uint64(len(requests())) || lost.Spans != 0 || lost.Marks != 0 {
		t.Errorf("%d profiles were refused: %v", len(requests()), err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "401") {
		t.Errorf("logged %s", log)
	}
}

// PERFLINE_PROFILING=off forbids profiling. Everything else works.
func TestProfilesForbidden(t *testing.T) {
	url, requests := takesProfiles(t, http.StatusOK)
	t.Setenv("PERFLINE_PROFILING", "off")
	pl, _, log := start(t, perfline.Config{Profiles: pyroscope.Config{ServerAddress: url}})
	if err := errors.Join(pl.Flush(t.Context()), pl.Shutdown(patient(t))); err != nil {
		t.Error(err)
	}
	if n := len(requests()); n != 0 || !strings.Contains(log.String(), "no profiles are taken") {
		t.Errorf("%d profiles; logged %s", n, log)
	}
}

// Nothing is left running: goleak looks.
func TestProfilesMisconfigured(t *testing.T) {
	t.Setenv("PYROSCOPE_SERVER_ADDRESS", "localhost:4040")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", gone)
	t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
	if pl, err := perfline.Start(t.Context(), perfline.Config{}); err == nil || !strings.Contains(err.Error(), `PYROSCOPE_SERVER_ADDRESS "localhost:4040"`) {
		t.Errorf("got %v, %v; want an error that names the variable and its value", pl, err)
	}
}

// Shutdown does not wait for a server that is away. It gives up the waiting profiles and returns their number.
func TestProfilesWithoutAServer(t *testing.T) {
	pl, _, log := start(t, perfline.Config{Profiles: pyroscope.Config{ServerAddress: gone}})
	forceSample(stateOf(pl))
	err := pl.Shutdown(patient(t))
	var lost *perfline.LostError
	if !errors.As(err, &lost) || lost.Profiles == 0 || !strings.Contains(err.Error(), "did not reach "+gone) {
		t.Errorf("got %v", err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("logged %s", log)
	}
}
