package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

func TestMain(m *testing.M) {
	service.Main() // the service is this program again
	leaktest.Main(m)
}

func TestRows(t *testing.T) {
	for _, c := range []struct{ only, want string }{
		{"jaeger/hanging", "jaeger/hanging"},
		{" sigterm , jaeger/hanging", "sigterm/healthy sigterm/jaeger hanging sigterm/pyroscope away jaeger/hanging"},
		{"jaeger/slow,jaeger/slow", "jaeger/slow"},
		{"random", "random"},
		{"collector,jaeger/without logs", "collector/absent collector/refused collector/hanging collector/slow collector/garbage collector/forgotten collector/killed and started collector/disk full collector/sigterm jaeger/without logs"},
		{"pyroscope", "pyroscope/absent pyroscope/refused pyroscope/hanging pyroscope/slow pyroscope/garbage pyroscope/forgotten pyroscope/killed and started pyroscope/disk full pyroscope/lying"},
	} {
		set, err := parse([]string{"-only", c.only}, os.Stderr)
		var names []string
		for _, r := range set.rows {
			names = append(names, r.name)
		}
		if got := strings.Join(names, " "); got != c.want || err != nil {
			t.Errorf("-only %q chooses %q, %v; want %q", c.only, got, err, c.want)
		}
	}
	for args, want := range map[string]int{"": 1 + 3*8 + 2 + 4 + 1, "-short": 5, "-short -only collector": 8 + 1, "-random 0": 3*8 + 2 + 4 + 1} {
		if set, err := parse(strings.Fields(args), os.Stderr); len(set.rows) != want || err != nil {
			t.Errorf("%q: %d rows, %v; want random, eight faults of three backends, two that lie, four ends, and one without logs: %d", args, len(set.rows), err, want)
		}
	}
	if _, err := parse([]string{"-only", "jaeger/odd"}, os.Stderr); err == nil || !strings.Contains(err.Error(), `"jaeger/odd"`) || !strings.Contains(err.Error(), "jaeger/hanging") {
		t.Errorf("error %v, want one with the name and those that there are", err)
	}
}

func TestFlags(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"too short", "-for 1s", "-for 1s: must be between 3s and"},
		{"too long", "-for 11m", "-for 11m0s: must be between"},
		{"no rate", "-rate 0", "-rate 0: must be between 1 and"},
		{"more than Jaeger keeps", "-for 10m -rate 2000", "2000000 requests"},
		{"none at a time", "-parallel 0", "-parallel 0: must be"},
		{"too short a random schedule", "-random 9s", "-random 9s: must be 0 or at least 10s"},
		{"no such row", "-only all", `no row "all"`},
		{"no random row", "-random 0 -only random", `no row "random"`},
		{"an argument", "jaeger", `["jaeger"]: no arguments`},
		{"no such flag", "-fast", "not defined: -fast"},
		{"a short fault into a document", "-for 29s -into faults.md", "-into faults.md: needs all rows"},
		{"some rows into a document", "-only jaeger -into faults.md", "-into faults.md: needs all rows"},
		{"some rows with a Collector into a document", "-only collector -into faults.md", "-into faults.md: needs all rows"},
		{"many at a time into a document", "-parallel 3 -into faults.md", "-into faults.md: needs all rows"},
		{"a short run into a document", "-short -into faults.md", "-into faults.md: needs all rows"},
		{"a short random schedule into a document", "-random 4m -into faults.md", "-into faults.md: needs -random 5m0s or more"},
		{"a picture of nothing", "-random 0 -svg soak.svg", "-svg soak.svg: needs the row random"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var usage bytes.Buffer
			if _, err := parse(strings.Fields(c.args), &usage); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// The rows of a part of the document may run alone.
func TestPartsOfDocument(t *testing.T) {
	for _, only := range []string{"random", "collector,jaeger/without logs", "collector,jaeger/without logs,random"} {
		if _, err := parse([]string{"-into", "faults.md", "-only", only}, os.Stderr); err != nil {
			t.Errorf("-only %q: %v", only, err)
		}
	}
}

// A document without the markers is refused before anything runs.
func TestDocumentIsChecked(t *testing.T) {
	set, err := parse([]string{"-into", os.DevNull}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, set); err == nil || !strings.Contains(err.Error(), `the line "<!-- faults -->" occurs 0 times`) {
		t.Errorf("error %v, want one about the marker", err)
	}
	if err := document.Check("../../docs/lab/faults.md", faultsPart, signalsPart, randomPart); err != nil {
		t.Error(err)
	}
}
