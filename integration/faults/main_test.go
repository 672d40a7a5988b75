package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/trial"
	"github.com/perfline/perfline/observer"
)

func TestMain(m *testing.M) {
	trial.Main() // the service is this program again
	os.Exit(m.Run())
}

func TestChoose(t *testing.T) {
	for _, c := range []struct{ only, want string }{
		{"jaeger/hanging", "jaeger/hanging"},
		{" sigterm , jaeger/hanging", "sigterm/healthy sigterm/jaeger hanging sigterm/collector away sigterm/pyroscope away jaeger/hanging"},
		{"jaeger/slow,jaeger/slow", "jaeger/slow"},
		{"pyroscope", "pyroscope/absent pyroscope/refused pyroscope/hanging pyroscope/slow pyroscope/garbage pyroscope/killed and started pyroscope/disk full pyroscope/lying"},
	} {
		chosen, err := choose(rows(), c.only)
		var names []string
		for _, r := range chosen {
			names = append(names, r.name)
		}
		if got := strings.Join(names, " "); got != c.want || err != nil {
			t.Errorf("-only %q chooses %q, %v; want %q", c.only, got, err, c.want)
		}
	}
	if all, err := choose(rows(), ""); len(all) != 3*7+2+4 || err != nil {
		t.Errorf("%d rows, %v; want seven faults of three backends, two that lie, and four ends", len(all), err)
	}
	if _, err := choose(rows(), "jaeger/odd"); err == nil || !strings.Contains(err.Error(), `"jaeger/odd"`) || !strings.Contains(err.Error(), "jaeger/hanging") {
		t.Errorf("error %v, want one with the name and those that there are", err)
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		name     string
		length   time.Duration
		rate     int
		only     string
		parallel int
		into     string
		rest     []string
		want     string
	}{
		{"too short", time.Second, 200, "", 1, "", nil, "-for 1s: must be between 3s and"},
		{"too long", 11 * time.Minute, 200, "", 1, "", nil, "-for 11m0s: must be between"},
		{"no rate", time.Minute, 0, "", 1, "", nil, "-rate 0: must be between 1 and"},
		{"more than Jaeger keeps", 10 * time.Minute, 2000, "", 1, "", nil, "2000000 requests"},
		{"none at a time", time.Minute, 200, "", 0, "", nil, "-parallel 0: must be"},
		{"no such row", time.Minute, 200, "all", 1, "", nil, `no row "all"`},
		{"an argument", time.Minute, 200, "", 1, "", []string{"jaeger"}, `["jaeger"]: no arguments`},
		{"a short run into a document", 29 * time.Second, 200, "", 1, "faults.md", nil, "-into faults.md: needs all rows"},
		{"some rows into a document", time.Minute, 200, "jaeger", 1, "faults.md", nil, "-into faults.md: needs all rows"},
		{"too many at a time into a document", time.Minute, 200, "", 3, "faults.md", nil, "-into faults.md: needs all rows"},
		{"into no document", time.Minute, 200, "", 2, "/dev/null", nil, "-into: /dev/null: the line \"<!-- faults -->\" is there 0 times"},
	} {
		err := run(t.Context(), c.length, c.rate, c.only, c.parallel, c.into, c.rest)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", c.name, err, c.want)
		}
	}
}

// TestCompare has a backend with more and with less than was counted.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name    string
		book    trial.Book
		found   int
		durable bool
		wrong   bool
		noted   bool
	}{
		{"as many", trial.Book{Delivered: 10}, 10, true, false, false},
		{"what was not answered has arrived", trial.Book{Delivered: 10, Perhaps: 2, Again: 1}, 13, true, false, false},
		{"less", trial.Book{Delivered: 10}, 9, true, true, false},
		{"more than can be", trial.Book{Delivered: 10, Perhaps: 2, Again: 1}, 14, true, true, false},
		{"less, of a backend that may lose", trial.Book{Delivered: 10}, 9, false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A backend that has less is asked until the time is over.
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			s := &subject{process: deaf{}, found: func(context.Context) (int, error) { return c.found, nil }}
			row := &trialled{result: &result{book: c.book}, subject: s}
			if err := row.compare(ctx, c.durable); (err != nil) != c.wrong {
				t.Errorf("error %v", err)
			}
			if noted := len(row.notes) > 0; noted != c.noted || row.found != c.found {
				t.Errorf("%d found, notes %q", row.found, row.notes)
			}
		})
	}
}

// deaf is a backend's process that is not there.
type deaf struct{ process }

func (deaf) Log() string { return "" }

// TestKept has a backend that forgets what it had when it is killed.
func TestKept(t *testing.T) {
	p, err := trial.NewProxy(t.Context(), "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	had := 5
	s := &subject{process: mortal{had: &had}, proxy: p, forgets: true, found: func(context.Context) (int, error) { return had, nil }}
	for _, more := range []int{3, 2, 0} {
		if err := s.kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.again(t.Context()); err != nil {
			t.Fatal(err)
		}
		had += more
	}
	if n, err := s.arrived(t.Context()); n != 5+3+2 || err != nil {
		t.Errorf("%d have arrived, %v; want all of 10", n, err)
	}
}

type mortal struct {
	process
	had *int
}

func (m mortal) Kill() error {
	*m.had = 0
	return nil
}

func (mortal) Start(context.Context) error { return nil }

// TestSmallDisk needs root on Linux, as it has in CI; where it is not allowed that is
// what must be told.
func TestSmallDisk(t *testing.T) {
	dir := t.TempDir()
	if err := mount(dir, 1<<20); err != nil {
		if os.Geteuid() == 0 && !errors.Is(err, os.ErrPermission) {
			t.Errorf("root cannot mount a small disk: %v", err)
		}
		t.Logf("not made: %v", err)
		return
	}
	defer func() {
		if err := unmount(dir); err != nil {
			t.Error(err)
		}
	}()
	// What is left is then no whole number of the blocks that are written.
	if err := os.WriteFile(filepath.Join(dir, "one"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := fill(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "more"), []byte("x"), 0o600); err == nil {
			t.Error("a full disk takes a byte more")
		}
		if err := empty(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "more"), make([]byte, 1<<19), 0o600); err != nil {
			t.Errorf("with room again: %v", err)
		}
		if err := os.Remove(filepath.Join(dir, "more")); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTable(t *testing.T) {
	ok := &result{name: "jaeger/slow", book: trial.Spans(trial.Account{}.Stats), found: 7, recovered: 1500 * time.Millisecond}
	ok.healthy.requests = trial.Results{Answered: 1, Latencies: []time.Duration{time.Millisecond}}
	ok.faulty.requests = trial.Results{Answered: 1, Latencies: []time.Duration{4 * time.Millisecond}}
	ok.requests = trial.Results{Answered: 40, Failed: 2}
	bad := &result{name: "jaeger/hanging", wrong: []error{errors.New("the first|line\nthe second")}}
	none := &result{name: "jaeger/disk full", notMade: errNotMade}
	var out bytes.Buffer
	writeTable(&out, []*result{ok, bad, none}, settings{time.Minute, 200}, 2)
	columns := 0 // of the table
	for line := range strings.Lines(strings.ReplaceAll(out.String(), `\|`, "")) {
		n := strings.Count(line, "|")
		if columns > 0 && n > 0 && n != columns {
			t.Errorf("%d bars in %q, the lines before have %d", n, line, columns)
		}
		columns = n
	}
	for _, want := range []string{"2 rows at a time", "| 42 (2) |", "p99 is over 3 times", "1.5 s", `NOT WELL: the first\|line |`, "not made"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, out.String())
		}
	}
}

// TestNotMade has a disk that cannot be made: nothing is to be taken away then, and the row
// does not fail.
func TestNotMade(t *testing.T) {
	p, err := trial.NewProxy(t.Context(), "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	begin := func(context.Context, string) (*subject, error) {
		return &subject{process: homeless{dir: filepath.Join(t.TempDir(), "none")}, proxy: p}, nil
	}
	i := slices.IndexFunc(faults, func(f fault) bool { return f.name == "disk full" })
	r := underFault(t.Context(), settings{minLength, 1}, "jaeger/disk full", begin, faults[i])
	if !errors.Is(r.notMade, errNotMade) || len(r.wrong) > 0 {
		t.Errorf("not made: %v; wrong %v, want only the first", r.notMade, r.wrong)
	}
}

// TestStoppedFaultIsOver stops a row in the middle of its fault: what the fault does to the
// backend is over before anybody else stops that.
func TestStoppedFaultIsOver(t *testing.T) {
	service, err := trial.StartService(t.Context(), trial.ServiceConfig{Telemetry: trial.None})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Kill() //nolint:errcheck // nothing is asked of it any more
	row := &trialled{result: &result{}, service: service, load: trial.StartLoad(service.URL(), 10), subject: &subject{book: trial.Spans}}
	defer row.endLoad()
	ctx, cancel := context.WithCancel(t.Context())
	over := false
	err = row.faultPhase(ctx, settings{maxLength, 10}, fault{during: func(during context.Context, _ *subject) (string, error) {
		cancel()
		<-during.Done()
		// It starts the backend again, which lasts for longer than a look.
		pause(t.Context(), 2*lookEvery)
		over = true
		return "", nil
	}})
	if !errors.Is(err, context.Canceled) || !over {
		t.Errorf("error %v, the fault is over: %t", err, over)
	}
}

// TestFailedRequests has requests fail in a phase whose results somebody takes.
func TestFailedRequests(t *testing.T) {
	failing := httptest.NewServer(http.NotFoundHandler())
	defer failing.Close()
	row := &trialled{result: &result{}, load: trial.StartLoad(failing.URL, 1000)}
	failed := 0
	if err := backend.Poll(t.Context(), func() (bool, error) {
		failed += row.load.Take().Failed
		return failed > 5, nil
	}); err != nil {
		t.Fatal(err)
	}
	row.endLoad()
	row.endLoad()
	if len(row.wrong) != 1 || row.requests.Failed < failed || !strings.Contains(row.wrong[0].Error(), "404") {
		t.Errorf("%d requests failed in all, of which %d were taken before; wrong: %v", row.requests.Failed, failed, row.wrong)
	}
}

// TestSettle has something wait for ever, though all is well.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name    string
		spans   bool
		pending uint64
		within  time.Duration // short where the wait is in vain
		want    string        // in the error; "" means none
	}{
		{"nothing", true, 0, time.Minute, ""},
		{"a span", true, 1, 2 * time.Second, "not all was delivered or lost"},
		{"profiles of a round, which the end delivers", false, 3, time.Minute, "3 were given up at the end"},
		{"more profiles", false, 4, 2 * time.Second, "not all was delivered or lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			service, err := trial.StartService(t.Context(), trial.ServiceConfig{Telemetry: trial.None})
			if err != nil {
				t.Fatal(err)
			}
			defer service.Kill() //nolint:errcheck // it has ended, or that it has not is told
			// Nobody asks the service for anything.
			row := &trialled{result: &result{}, service: service, subject: &subject{
				spans: c.spans, process: deaf{}, found: func(context.Context) (int, error) { return 0, nil },
				book: func(perfline.Stats) trial.Book { return trial.Book{Accepted: c.pending, Pending: c.pending} },
			}}
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			row.healthy.goroutinesIdle = maxRate // what is left of them is not what this is about
			err = row.settle(ctx, fault{durable: true})
			if err := errors.Join(append(row.wrong, err)...); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestHold has a service end with another account than the load has.
func TestHold(t *testing.T) {
	for _, c := range []struct {
		name            string
		begun, answered uint64
		arrived         int
		says, want      string // in the error; "" means none
	}{
		{"all answered", 1, 1, 1, "", ""},
		{"an answer that did not arrive", 2, 2, 1, "", "answered 2 requests, and 1 answers arrived"},
		{"an answer that the service did not count", 1, 1, 2, "", "answered 1 requests, and 2 answers arrived"},
		{"a request that was not answered", 2, 1, 1, "", "of 2 requests, 1 of them answered"},
		{"a loss that is not counted", 1, 1, 1, "lost", `the end says "lost"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := &trialled{result: &result{requests: trial.Results{Answered: c.arrived}}, subject: &subject{book: trial.Spans, spans: true}}
			final := trial.Final{Err: c.says}
			final.Begun, final.Answered = c.begun, c.answered
			final.Stats.Timeline = observer.Stats{observer.Mark: {Recorded: c.answered * trial.Marks}, observer.Measure: {Recorded: c.answered * trial.Measures}}
			made := c.answered * trial.SpansOfRequest
			final.Stats.Delivery = exporter.Stats{Accepted: made, Delivered: made}
			final.Stats.Bridge = bridge.Stats{Events: c.answered * trial.Marks, Measures: c.answered * trial.Measures, Spans: c.answered}
			row.hold(final)
			if err := errors.Join(row.wrong...); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// homeless is a backend whose folder is not there.
type homeless struct {
	process
	dir string
}

func (h homeless) Dir() string { return h.dir }
func (homeless) Kill() error   { return nil }
func (homeless) Stop() error   { return nil }
