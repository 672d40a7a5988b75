package perfline_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/otlpprofiles"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// profiles takes profiles over OTLP. Its answer to all is answer.
type profiles struct {
	answer exporter.Answer

	mu   sync.Mutex // guards sent
	sent []string
}

func (p *profiles) Send(_ context.Context, body []byte) exporter.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, string(body))
	return p.answer
}

func (p *profiles) String() string { return "the test" }

func (p *profiles) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// Profiles over OTLP have the resource of spans. Flush and Shutdown deliver them.
func TestProfileExporter(t *testing.T) {
	for _, variable := range []string{"", "otlp"} {
		t.Run("OTEL_PROFILES_EXPORTER="+variable, func(t *testing.T) {
			t.Setenv("OTEL_PROFILES_EXPORTER", variable)
			p := &profiles{}
			pl, _, log := start(t, perfline.Config{Service: "shop", ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Sender: p})})
			instance := resourceOf(t, pl)["service.instance.id"]
			forceSample(func() profiling.State { return pl.Stats().OTLPProfiles.State })
			if err := pl.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			flushed := len(p.all())
			if err := pl.Shutdown(patient(t)); err != nil {
				t.Error(err)
			}
			if all := p.all(); flushed == 0 || len(all) <= flushed || !strings.Contains(all[0], instance) {
				t.Errorf("%d requests by Flush, %d in all", flushed, len(all))
			}
			s := pl.Stats()
			if s.OTLPProfiles.Delivered == 0 || s.OTLPProfiles.Delivered != s.OTLPProfiles.Accepted || s.OTLPProfiles.Failed > 0 || s.Profiles != (profiling.ExporterStats{}) {
				t.Errorf("counts are %+v, %+v", s.OTLPProfiles, s.Profiles)
			}
			if log.Len() > 0 {
				t.Errorf("logged %s", log)
			}
		})
	}
}

// Nothing is profiled if the variable or PERFLINE_PROFILING forbids it. A variable without the field is a line with the remedy.
func TestProfileExporterThatDoesNotStart(t *testing.T) {
	for _, c := range []struct {
		name, exporter, profiling string
		set                       bool // the field
		says                      string
	}{
		{"none", "none", "", true, ""},
		{"none, and no field", "none", "", false, ""},
		{"no field", "otlp", "", false, "set Config.ProfileExporter to otlpprofiles.New of github.com/perfline/perfline/profiling/otlpprofiles"},
		{"forbidden", "", "off", true, "no profiles are taken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_PROFILES_EXPORTER", c.exporter)
			t.Setenv("PERFLINE_PROFILING", c.profiling)
			p, config := &profiles{}, perfline.Config{}
			if c.set {
				config.ProfileExporter = otlpprofiles.New(otlpprofiles.Config{Sender: p})
			}
			pl, _, log := start(t, config)
			if err := errors.Join(pl.Flush(t.Context()), pl.Shutdown(patient(t))); err != nil || len(p.all()) > 0 {
				t.Errorf("%d requests, error %v", len(p.all()), err)
			}
			lines := min(1, len(c.says))
			if n := strings.Count(log.String(), "\n"); n != lines || !strings.Contains(log.String(), c.says) {
				t.Errorf("logged %s", log)
			}
			for _, count := range pl.Counts() {
				if strings.HasPrefix(count.Group, "perfline.delivery.otlp_profiles") || strings.HasPrefix(count.Group, "perfline.profiling") {
					t.Errorf("there is %+v", count)
				}
			}
		})
	}
}

// Nothing is left running: goleak looks.
func TestProfileExporterMisconfigured(t *testing.T) {
	for name, c := range map[string]struct {
		config otlpprofiles.Config
		says   string
	}{
		"wrong field": {otlpprofiles.Config{Interval: time.Millisecond}, "perfline: otlpprofiles: Interval 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			if pl, err := perfline.Start(t.Context(), perfline.Config{ProfileExporter: otlpprofiles.New(c.config)}); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, %v, want %q", pl, err, c.says)
			}
		})
	}
}

// A lost profile is in the error of Shutdown, and a variable that several signals read is one line.
func TestProfilesOverOTLPThatAreLost(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	pl, _, log := start(t, perfline.Config{ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Endpoint: "http://127.0.0.1:1"})})
	if n := strings.Count(log.String(), "OTEL_EXPORTER_OTLP_TIMEOUT"); n != 1 {
		t.Errorf("logged %s", log)
	}
	err := pl.Shutdown(patient(t))
	var lost *perfline.LostError
	if s := pl.Stats().OTLPProfiles; !errors.As(err, &lost) || lost.Profiles == 0 || lost.Profiles != s.Accepted || !strings.Contains(err.Error(), "profiles over OTLP in the queue, given up at the deadline") {
		t.Errorf("counts are %+v, error %v", s, err)
	}
}

// Profiles that the receiver does not know are lost for that reason.
func TestProfilesThatTheReceiverDoesNotKnow(t *testing.T) {
	p := &profiles{answer: exporter.Answer{Err: errors.New("no such topic"), Unknown: true}}
	pl, _, _ := start(t, perfline.Config{ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Sender: p})})
	_ = pl.Flush(t.Context()) // from then on they are dropped
	err := pl.Shutdown(patient(t))
	if s := pl.Stats().OTLPProfiles; s.Dropped == 0 || err == nil || !strings.Contains(err.Error(), "profiles over OTLP dropped at the full queue, or not known to the backend") {
		t.Errorf("counts are %+v, error %v", s, err)
	}
	for _, c := range pl.Counts() {
		if c.Group == "perfline.delivery.otlp_profiles" && c.Name == "dropped" && !strings.HasSuffix(c.What, "not known to the backend") {
			t.Errorf("the count is %+v", c)
		}
	}
}

// Pyroscope and a receiver over OTLP get the same profiles of one source, whose gaps count once. An
// exporter of the program counts beside that source.
func TestBothProfilings(t *testing.T) {
	url, requests := takesProfiles(t, http.StatusOK)
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	defer otel.SetMeterProvider(before)
	p := &profiles{}
	const long = 30 * time.Minute // all profiles come from Flush
	pl, _, log := start(t, perfline.Config{
		Profiles:        pyroscope.Config{ServerAddress: url, UploadInterval: long},
		ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Sender: p, Interval: long}),
	})
	cpu := func() (n int) {
		for _, body := range p.all() {
			n += strings.Count(body, "\x03cpu")
		}
		return n
	}
	for cpu() == 0 { // there is no profile without a sample
		for range 100_000 {
			_ = strings.Repeat("x", 1000)
		}
		if err := pl.Flush(patient(t)); err != nil {
			t.Fatal(err)
		}
	}
	if n := sources(t); n != 1 {
		t.Errorf("%d goroutines take profiles, want one for both receivers", n)
	}
	if a, b := pl.Stats().Profiles, pl.Stats().OTLPProfiles; a.ContinuousStats != b.ContinuousStats {
		t.Errorf("profiles to Pyroscope were taken as %+v, over OTLP as %+v", a.ContinuousStats, b.ContinuousStats)
	}
	if got := collect(t, reader); got["perfline.profiling.state started"] != 1 || got["perfline.delivery.profiles.pending"] != 0 {
		t.Errorf("the metrics are %v", got)
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if len(requests()) == 0 || !strings.Contains(strings.Join(requests(), ""), "process_cpu") || log.Len() > 0 {
		t.Errorf("%d requests to Pyroscope, %d over OTLP with CPU, logged %s", len(requests()), cpu(), log)
	}
}

// sources returns how many goroutines take profiles all the time.
func sources(t *testing.T) int {
	t.Helper()
	var goroutines bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&goroutines, 2); err != nil {
		t.Fatal(err)
	}
	return strings.Count(goroutines.String(), "continuous.(*Source).run(")
}
