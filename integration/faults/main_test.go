package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/integration/trial"
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
		rest     []string
		want     string
	}{
		{"too short", time.Second, 200, "", 1, nil, "-for 1s: must be between 3s and"},
		{"too long", 11 * time.Minute, 200, "", 1, nil, "-for 11m0s: must be between"},
		{"no rate", time.Minute, 0, "", 1, nil, "-rate 0: must be between 1 and"},
		{"more than Jaeger keeps", 10 * time.Minute, 2000, "", 1, nil, "2000000 requests"},
		{"none at a time", time.Minute, 200, "", 0, nil, "-parallel 0: must be"},
		{"no such row", time.Minute, 200, "all", 1, nil, `no row "all"`},
		{"an argument", time.Minute, 200, "", 1, []string{"jaeger"}, `["jaeger"]: no arguments`},
	} {
		err := run(t.Context(), c.length, c.rate, c.only, c.parallel, c.rest)
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
		if err := unmount(dir); err != nil {
			t.Errorf("the second time: %v", err)
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
	bad := &result{name: "jaeger/hanging", wrong: []error{errors.New("the first line\nthe second")}}
	none := &result{name: "jaeger/disk full", notMade: errNotMade}
	var out bytes.Buffer
	writeTable(&out, []*result{ok, bad, none}, settings{time.Minute, 200}, 1)
	columns := -1
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		if n := strings.Count(line, "|"); columns >= 0 && n != columns {
			t.Errorf("%d bars in %q, the lines before have %d", n, line, columns)
		}
		columns = strings.Count(line, "|")
	}
	for _, want := range []string{"p99 is over 3 times", "1.5 s", "NOT WELL: the first line |", "not made"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, out.String())
		}
	}
}
