package continuous_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pprofpb "github.com/google/pprof/profile"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/otlpprofiles"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// A window is the time of a CPU profile: nanoseconds since 1970, and its length.
type window struct{ from, length int64 }

// A receiver plays a Pyroscope and a receiver over OTLP. It notes the windows of CPU profiles.
type receiver struct {
	t      *testing.T
	status int // of Pyroscope

	mu                      sync.Mutex // guards what follows
	overPyroscope, overOTLP []window
	closed                  int
}

func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	p, err := pprofpb.ParseData(field(field(field(body, 1), 2), 1)) // of push.v1.PushRequest
	if err != nil {
		r.t.Errorf("the request has no profile: %v", err)
	} else if p.SampleType[0].Type == "samples" {
		r.mu.Lock()
		r.overPyroscope = append(r.overPyroscope, window{p.TimeNanos, p.DurationNanos})
		r.mu.Unlock()
	}
	return &http.Response{StatusCode: r.status, Body: http.NoBody, Request: req}, nil
}

// field returns the last value of a field.
func field(message []byte, number protowire.Number) (value []byte) {
	for len(message) > 0 {
		n, typ, tag := protowire.ConsumeTag(message)
		length := protowire.ConsumeFieldValue(n, typ, message[tag:])
		if n == number {
			value, _ = protowire.ConsumeBytes(message[tag:])
		}
		message = message[tag+length:]
	}
	return value
}

func (r *receiver) Send(_ context.Context, body []byte) exporter.Answer {
	var data profilespb.ProfilesData
	if err := proto.Unmarshal(body, &data); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range data.GetResourceProfiles()[0].GetScopeProfiles()[0].GetProfiles() {
		if data.GetDictionary().GetStringTable()[p.GetSampleType().GetTypeStrindex()] == "cpu" {
			r.overOTLP = append(r.overOTLP, window{int64(p.GetTimeUnixNano()), int64(p.GetDurationNano())}) //nolint:gosec // after 1970
		}
	}
	return exporter.Answer{}
}

func (r *receiver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed++
	return nil
}

func (r *receiver) String() string { return "the test" }

// both starts exporters to Pyroscope and over OTLP together. starts counts profilers, and spans has
// what they were asked for.
func (r *receiver) both(push pyroscope.Config, otlp otlpprofiles.Config, starts *int, spans *profiling.Selection) (run *continuous.Run, exporters []profiling.Exporter, err error) {
	push.ServerAddress, push.ApplicationName, push.HTTPClient = "http://pyroscope", "shop", &http.Client{Transport: r}
	otlp.Sender = r
	began := time.Now()
	env := continuous.Environment{
		Logger: slog.New(slog.NewTextHandler(r.t.Output(), nil)),
		Process: func(_ context.Context, s profiling.Selection) continuous.Process {
			*spans = s
			return continuous.Process{
				Now: time.Now, Clock: func() time.Duration { return time.Since(began) }, Spent: free,
				Profiler: func(func()) (continuous.Profiler, error) {
					*starts++
					return &profiler{}, nil
				},
			}
		},
	}
	exporters = []profiling.Exporter{pyroscope.New(push), otlpprofiles.New(otlp)}
	run, err = continuous.StartExporters(r.t.Context(), env, exporters[0].(*continuous.Exporter), exporters[1].(*continuous.Exporter))
	return run, exporters, err
}

// With Pyroscope and OTLP on, one profiler runs, and both receivers get the same windows.
func TestOneSourceForTwoReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t, status: http.StatusOK}
		starts, spans := 0, profiling.Selection(0)
		run, exporters, err := r.both(pyroscope.Config{UploadInterval: time.Minute}, otlpprofiles.Config{Interval: 20 * time.Second, Spans: profiling.EverySpan}, &starts, &spans)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(61 * time.Second) // the shorter interval counts for both: three windows
		if err := errors.Join(run.Flush(t.Context()), run.Shutdown(t.Context())); err != nil {
			t.Error(err)
		}
		if starts != 1 || spans != profiling.EverySpan {
			t.Errorf("%d profilers, whose samples name spans by %d; want one and %d", starts, spans, profiling.EverySpan)
		}
		if len(r.overPyroscope) != 5 || !slices.Equal(r.overPyroscope, r.overOTLP) {
			t.Errorf("windows to Pyroscope %v, over OTLP %v; want five equal ones", r.overPyroscope, r.overOTLP)
		}
		pushed, exported := exporters[0].Stats(), exporters[1].Stats()
		if pushed != exported || pushed.Delivered != 5 || run.LastMinute() == nil {
			t.Errorf("counts are %+v and %+v", pushed, exported)
		}
		if err := exporters[0].Start(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "pyroscope: the exporter has been started already") {
			t.Errorf("a second Start: %v", err)
		}
	})
}

// A receiver that refuses profiles takes nothing from the other. The error of Shutdown names it.
func TestOneReceiverRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t, status: http.StatusUnauthorized}
		starts, spans := 0, profiling.Selection(0)
		run, exporters, err := r.both(pyroscope.Config{}, otlpprofiles.Config{}, &starts, &spans)
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{"Flush": run.Flush(t.Context()), "Shutdown": run.Shutdown(t.Context())} {
			if err == nil || !strings.HasPrefix(err.Error(), "pyroscope: ") || strings.Contains(err.Error(), "otlpprofiles") {
				t.Errorf("%s returned %v", name, err)
			}
		}
		if pushed, exported := exporters[0].Stats(), exporters[1].Stats(); pushed.Refused != 2 || exported.Delivered != 2 {
			t.Errorf("counts are %+v and %+v", pushed, exported)
		}
	})
}

// After an error of one exporter's configuration, none runs: goleak and the bubble look.
func TestOneExporterMisconfigured(t *testing.T) {
	for says, c := range map[string]struct {
		push pyroscope.Config
		otlp otlpprofiles.Config
	}{
		"pyroscope: UploadInterval 1ms: must be":  {push: pyroscope.Config{UploadInterval: time.Millisecond}},
		"pyroscope: QueueBytes -1: must not be":   {push: pyroscope.Config{QueueBytes: -1}},
		"otlpprofiles: Interval 1ms: must be":     {otlp: otlpprofiles.Config{Interval: time.Millisecond}},
		"otlpprofiles: LeakInterval 1ns: must be": {otlp: otlpprofiles.Config{LeakInterval: 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &receiver{t: t, status: http.StatusOK}
			starts, spans := 0, profiling.Selection(0)
			_, exporters, err := r.both(c.push, c.otlp, &starts, &spans)
			if err == nil || !strings.HasPrefix(err.Error(), says) || starts > 0 {
				t.Errorf("got %v, %d profilers, want %q", err, starts, says)
			}
			for _, e := range exporters {
				if err := errors.Join(e.Flush(t.Context()), e.Shutdown(t.Context())); err != nil || e.Stats() != (profiling.ExporterStats{}) {
					t.Errorf("%v: %v, %+v", e, err, e.Stats())
				}
			}
		})
	}
}

// The most frequent interval and the most spans that any receiver asks for count for all.
func TestSettingsOfSeveralReceivers(t *testing.T) {
	for _, c := range []struct{ a, b, want time.Duration }{{-1, -1, -1}, {-1, time.Hour, time.Hour}, {time.Hour, -1, time.Hour}, {time.Hour, time.Minute, time.Minute}, {time.Minute, time.Hour, time.Minute}} {
		s := continuous.Combine(continuous.Settings{LeakInterval: c.a, Interval: time.Minute, Spans: profiling.EverySpan}, continuous.Settings{LeakInterval: c.b, Interval: time.Second})
		if s.LeakInterval != c.want || s.Interval != time.Second || s.Spans != profiling.EverySpan {
			t.Errorf("of leak intervals %v and %v: %+v, want %v", c.a, c.b, s, c.want)
		}
	}
}
