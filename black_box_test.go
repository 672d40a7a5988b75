package perfline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
)

const blackBoxDir = "PERFLINE_BLACKBOX_DIR"

// A collector takes spans, or answers with an error.
type collector struct {
	mu    sync.Mutex // guards the fields below
	down  bool
	spans []*tracepb.Span
}

func (c *collector) Send(_ context.Context, body []byte) exporter.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return exporter.Answer{Err: errors.New("down"), Retry: true}
	}
	c.spans = append(c.spans, spansIn(body)...)
	return exporter.Answer{}
}

// taken returns a copy of the spans.
func (c *collector) taken() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

func (c *collector) set(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// spansIn returns the spans of an ExportTraceServiceRequest.
func spansIn(body []byte) (spans []*tracepb.Span) {
	var all tracepb.TracesData
	if err := proto.Unmarshal(body, &all); err != nil {
		panic(err)
	}
	for _, r := range all.GetResourceSpans() {
		for _, s := range r.GetScopeSpans() {
			spans = append(spans, s.GetSpans()...)
		}
	}
	return spans
}

func spanNames(spans []*tracepb.Span) string {
	var names []string
	for _, s := range spans {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// died copies the file of a living black box to another directory, as if its process had died now.
func died(t *testing.T, dir, to string) {
	t.Helper()
	names, err := blackbox.Find(dir)
	if err != nil || len(names) != 1 {
		t.Fatalf("the black boxes are %q, %v", names, err)
	}
	file, err := os.ReadFile(names[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(to, filepath.Base(names[0])), file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// boxLines returns the lines of a log about black boxes.
func boxLines(log *bytes.Buffer) (all []string) {
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "black box") || strings.Contains(line, "an earlier process") {
			all = append(all, line)
		}
	}
	return all
}

// entries returns the names of the files in a directory.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// A wrong directory costs the black box and one line of the log, which names the directory. Start succeeds, and requests
// are as they were.
func TestWrongBlackBox(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("the program's"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		for _, variable := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				c := perfline.Config{BlackBox: dir}
				if variable {
					t.Setenv(blackBoxDir, " "+dir+" ")
					c.BlackBox = ""
				}
				pl, ctx, log := start(t, c)
				_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /")
				span.End()
				if err := pl.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if got := boxLines(log); len(got) != 1 || !strings.Contains(got[0], "there is no black box") || !strings.Contains(got[0], file) || strings.Contains(got[0], "variable="+blackBoxDir) != variable || strings.Contains(got[0], "field=BlackBox") == variable || pl.Deaths() != nil {
					t.Errorf("%s: the log has %q", dir, got)
				}
			})
		}
	}
	if text, err := os.ReadFile(file); string(text) != "the program's" || err != nil {
		t.Errorf("the program's file has %q, %v", text, err)
	}
}

// Without the field and with an empty variable, there is no black box and no line.
func TestNoBlackBox(t *testing.T) {
	for _, value := range []string{"", "  "} {
		t.Setenv(blackBoxDir, value)
		t.Chdir(t.TempDir())
		pl, _, log := start(t, perfline.Config{})
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
		if pl.Deaths() != nil || len(boxLines(log)) > 0 || len(entries(t, ".")) > 0 {
			t.Errorf("%q: a black box: %q", value, boxLines(log))
		}
	}
}

// The field may be relative to the directory of the program at Start. TestVariables has relative values of the variable.
func TestRelativeBlackBox(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	pl, _, log := start(t, perfline.Config{BlackBox: "box"})
	t.Chdir(t.TempDir())
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if names, err := blackbox.Find(filepath.Join(dir, "box")); len(names) != 1 || err != nil || len(boxLines(log)) > 0 {
		t.Errorf("the files are %q, %v, and the log has %q", names, err, boxLines(log))
	}
}

// What cannot be read stays, with one line for all of it. Old files beyond the newest 32 go, if they are ours.
func TestManyFiles(t *testing.T) {
	living, dir := t.TempDir(), t.TempDir()
	first, _, _ := start(t, perfline.Config{BlackBox: living})
	defer func() { _ = first.Shutdown(context.Background()) }()
	died(t, living, dir)
	ours, err := os.ReadFile(filepath.Join(dir, entries(t, dir)[0]))
	if err != nil {
		t.Fatal(err)
	}
	file := func(i int, content []byte) {
		name := filepath.Join(dir, fmt.Sprintf("perfline-7-%08x.blackbox", i))
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Time{}, time.Unix(int64(1_000_000-i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	const foreign, torn, unfinished, earlier = 400, 200, 10, 40
	var want []string
	for i := range foreign + torn + unfinished {
		switch {
		case i < foreign:
			file(i, []byte("somebody's notes"))
		case i < foreign+torn:
			file(i, ours[:20_000])
		default:
			file(i, nil)
		}
		if i < foreign+torn {
			want = append(want, fmt.Sprintf("perfline-7-%08x.blackbox", i))
		}
	}
	for i := range earlier - 1 {
		file(700+i, ours)
	}
	file(999, []byte("older notes")) // beyond the 32
	want = append(want, fmt.Sprintf("perfline-7-%08x.blackbox", 999))
	pl, _, log := start(t, perfline.Config{BlackBox: dir})
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	var left []string
	for _, name := range entries(t, dir) {
		if strings.HasPrefix(name, "perfline-7-") {
			left = append(left, name)
		}
	}
	if !slices.Equal(left, want) {
		t.Errorf("%d files are left, want %d", len(left), len(want))
	}
	counts := map[string]uint64{}
	for _, c := range pl.Counts() {
		if c.Group == "perfline.blackbox.files" {
			counts[c.Name] = c.N
		}
	}
	if counts["read"] != 32 || counts["unread"] != foreign+torn+1 || counts["older"] != unfinished+earlier-32 {
		t.Errorf("the counts are %v", counts)
	}
	var deaths, others int
	for _, line := range boxLines(log) {
		switch {
		case strings.Contains(line, "an earlier process"):
			deaths++
		case strings.Contains(line, "cannot be read") && strings.Contains(line, "files=601") && strings.Contains(line, "perfline-7-00000000.blackbox: the file is no black box"):
			others++
		case strings.Contains(line, "removed unread") && strings.Contains(line, "files=18"):
			others++
		default:
			t.Error(line)
		}
	}
	if deaths != 32 || others != 2 {
		t.Errorf("%d lines about deaths, and %d others", deaths, others)
	}
}

// One pipeline of a process has the black box. Another one says so, and leaves the first one's alone.
func TestTwoBlackBoxes(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	timeline := observer.NewTimeline(observer.TimelineOptions{})
	first, ctx, _ := start(t, perfline.Config{BlackBox: dir, Timeline: timeline})
	second, _, log := start(t, perfline.Config{BlackBox: to, Timeline: timeline})
	if got := boxLines(log); len(got) != 1 || !strings.Contains(got[0], to) || !strings.Contains(got[0], "another pipeline") || second.Deaths() != nil || len(entries(t, to)) > 0 {
		t.Errorf("the log of the second has %q", got)
	}
	if err := second.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	_, span := first.TracerProvider().Tracer("t").Start(ctx, "GET /open", trace.WithSpanKind(trace.SpanKindServer))
	died(t, dir, to)
	span.End()
	if err := first.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	third, _, log := start(t, perfline.Config{BlackBox: to, Timeline: timeline}) // now there is none
	if err := third.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if got := boxLines(log); len(got) != 1 || !strings.Contains(got[0], `open="1 GET /open"`) {
		t.Errorf("the log of the third has %q", got)
	}
}

// A program that starts and shuts down again and again keeps one file, and says three times that it ended well.
func TestBlackBoxInALoop(t *testing.T) {
	dir := t.TempDir()
	for round := range 6 {
		pl, _, log := start(t, perfline.Config{BlackBox: dir})
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
		if got := boxLines(log); len(got) != min(round, 1) || round > 0 && !strings.Contains(got[0], "level=INFO") {
			t.Errorf("round %d: the log has %q", round, got)
		}
		if names := entries(t, dir); len(names) != 2 {
			t.Fatalf("round %d leaves %q", round, names)
		}
	}
	names, err := blackbox.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("perfline-7-%08x.blackbox", i)), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pl, _, log := start(t, perfline.Config{BlackBox: dir})
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if got := boxLines(log); len(got) != 3 || len(entries(t, dir)) != 2 {
		t.Errorf("the log has %q, and the directory %q", got, entries(t, dir))
	}
}

// A Start that fails after it opened the black box closes the black box: the next Start reads it, and has its own.
func TestStartFailsWithBlackBox(t *testing.T) {
	overBoth(t, func(t *testing.T, start starter) {
		dir := t.TempDir()
		timeline := observer.NewTimeline(observer.TimelineOptions{})
		c := perfline.Config{BlackBox: dir, Timeline: timeline, Traces: exporter.Config{Sender: &collector{}}}
		done := make(chan bool)
		go func() { // Start ends it
			defer close(done)
			c := c
			c.Logger, c.Waits = slog.New(slog.DiscardHandler), exits{}
			pl, err := perfline.Start(t.Context(), c)
			t.Errorf("Start returns %v, %v", pl, err)
		}()
		<-done
		pl, _, log := start(t, c)
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
		if got := boxLines(log); len(got) != 1 || !strings.Contains(got[0], "kind=ended") || pl.Deaths() == nil {
			t.Errorf("the log has %q", got)
		}
	})
}

// exits is a waits recorder that ends the goroutine of Start.
type exits struct{ waits.Recorder }

func (exits) Watch(func(bridge.Root, *waits.Request)) (stop func()) {
	runtime.Goexit()
	return nil
}

// What a backend did not take until Shutdown is in the file. The next process sends it, once.
func TestUndeliveredSpansAreSentLater(t *testing.T) {
	overBoth(t, func(t *testing.T, start starter) {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			backend := &collector{}
			c := perfline.Config{BlackBox: dir, Traces: exporter.Config{Sender: backend}}
			pl, ctx, _ := start(t, c)
			span := func(name string) {
				_, s := pl.TracerProvider().Tracer("t").Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
				s.End()
			}
			span("GET /delivered")
			if err := pl.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			backend.set(true)
			span("GET /first")
			span("GET /second")
			var lost *perfline.LostError
			if err := pl.Shutdown(t.Context()); !errors.As(err, &lost) {
				t.Errorf("Shutdown says %v", err)
			}
			if got := spanNames(backend.taken()); got != "GET /delivered" {
				t.Errorf("the backend has %s", got)
			}
			backend.set(false)
			next, _, log := start(t, c)
			synctest.Wait()
			time.Sleep(time.Minute)
			if err := next.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if got := spanNames(backend.taken()); got != "GET /delivered, GET /first, GET /second" {
				t.Errorf("the backend has %s", got)
			}
			if got := boxLines(log); len(got) != 1 || !strings.Contains(got[0], "kind=ended") {
				t.Errorf("the log has %q", got)
			}
			last, _, log := start(t, c) // and reports only the one before
			if err := last.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if got := boxLines(log); len(got) != 1 || len(backend.taken()) != 3 {
				t.Errorf("the log has %q, and the backend %s", got, spanNames(backend.taken()))
			}
		})
	})
}

// The spans of a slow request, which wait for the recorder's answer, are in the file meanwhile.
func TestDelayedSpansAreInTheBlackBox(t *testing.T) {
	overBoth(t, func(t *testing.T, start starter) {
		synctest.Test(t, func(t *testing.T) {
			dir, backend, recorder := t.TempDir(), &collector{}, &answers{}
			pl, ctx, _ := start(t, perfline.Config{
				BlackBox: dir, Waits: recorder, Traces: exporter.Config{Sender: backend},
				Keep: bridge.KeepPolicy{Slow: time.Minute, Routes: map[string]time.Duration{"GET /slow": time.Second}},
			})
			_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /slow", trace.WithSpanKind(trace.SpanKindServer))
			time.Sleep(2 * time.Second)
			span.End()
			time.Sleep(10 * time.Second)
			for range 2 {
				synctest.Wait()
				to := t.TempDir()
				died(t, dir, to)
				spans := backend.taken()
				for _, it := range readDied(t, to).Items {
					spans = append(spans, spansIn(it.Body)...)
				}
				if got := spanNames(spans); got != "GET /slow" {
					t.Errorf("the backend and the file have %q", got)
				}
				time.Sleep(time.Minute) // longer than the delay
			}
			if len(backend.taken()) != 1 {
				t.Errorf("the backend has %s", spanNames(backend.taken()))
			}
			if err := pl.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
}

// Requests that the sampler dropped are in the report. A backend gets the open ones only if it would get kept ones.
func TestUnsampledRequestsOfADeath(t *testing.T) {
	for _, export := range []bool{false, true} {
		dir, to := t.TempDir(), t.TempDir()
		pl, ctx, _ := start(t, perfline.Config{
			BlackBox: dir, Sampler: sdktrace.NeverSample(), Keep: bridge.KeepPolicy{Export: export}, Traces: exporter.Config{Sender: &collector{}},
		})
		_, span := pl.TracerProvider().Tracer("t").Start(ctx, "GET /open", trace.WithSpanKind(trace.SpanKindServer))
		died(t, dir, to)
		d := readDied(t, to)
		if got := d.Report().OpenByRoute(); got != "1 GET /open" {
			t.Errorf("open are %q", got)
		}
		if n := len(d.Exported()); (n == 1) != export {
			t.Errorf("with export %t, %d requests are for the backend", export, n)
		}
		span.End()
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
	}
}
