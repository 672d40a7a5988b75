package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/lab/internal/figures"
)

// measures is an experiment that adds a figure and returns an error.
func measures(name, value string, met *bool, err error) experiment {
	return experiment{name: name, what: "a test", do: func(_ context.Context, s *setting) error {
		return errors.Join(figures.Add(s.figures, "figure of "+name, "≤ 2", value, met), err)
	}}
}

func TestEveryExperimentRuns(t *testing.T) {
	yes, no := true, false
	var out strings.Builder
	err := run(t.Context(), nil, []experiment{
		measures("falls-short", "3", &no, nil),
		measures("fails", "1", nil, errors.New("no backend")),
		measures("meets", "2", &yes, nil),
		{name: "measures-nothing", do: func(context.Context, *setting) error { return nil }},
	}, &out)
	for _, want := range []string{
		"| falls-short | figure of falls-short | ≤ 2 | 3 | **missed** |",
		"| fails | runs to its end | yes | no backend | **failed** |",
		"| fails | figure of fails | ≤ 2 | 1 | – |",
		"| meets | figure of meets | ≤ 2 | 2 | met |",
		"| measures-nothing | runs to its end | yes | yes | met |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	for _, want := range []string{"falls-short: figure of falls-short is 3, must be ≤ 2", "fails: no backend"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "meets") {
		t.Errorf("error %v names an experiment that met its goal", err)
	}
}

func TestAllGoalsMet(t *testing.T) {
	yes := true
	if err := run(t.Context(), []string{"meets"}, []experiment{
		measures("meets", "2", &yes, nil), measures("fails", "", nil, errors.New("not asked for")),
	}, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestTableInDocument(t *testing.T) {
	yes := true
	file := filepath.Join(t.TempDir(), "latest.md")
	if err := os.WriteFile(file, []byte("<!-- lab -->\nold\n<!-- /lab -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := []experiment{measures("meets", "2", &yes, nil)}
	if err := run(t.Context(), []string{"-into", file, "meets"}, all, io.Discard); err == nil {
		t.Error("-into with a choice of experiments: no error")
	}
	if err := run(t.Context(), []string{"-into", file}, all, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "| meets | figure of meets | ≤ 2 | 2 | met |") || strings.Contains(string(text), "old") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestUnknownExperiment(t *testing.T) {
	err := run(t.Context(), []string{"fast"}, []experiment{{name: "slow"}}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `"fast": must be one of slow`) {
		t.Errorf("got %v, want an error that names the value and the rule", err)
	}
}

func TestShortRunLeavesOut(t *testing.T) {
	chosen, err := choose(experiments, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, e := range chosen {
		if e.do != nil {
			t.Errorf("a short run has %s", e.name)
		}
		for _, c := range e.short {
			programs = append(programs, strings.Fields(c)[0])
		}
	}
	for _, e := range experiments {
		for _, c := range e.long {
			if program := strings.Fields(c)[0]; !slices.Contains(programs, program) {
				t.Errorf("a short run has no command of %s, but %q", program, programs)
			}
		}
	}
}

func TestTimes(t *testing.T) {
	got := times([]result{
		{experiment: experiment{name: "calls"}, took: 2 * time.Second, cpu: 3 * time.Second},
		{experiment: experiment{name: "load"}, took: 1400 * time.Millisecond, cpu: 1400 * time.Millisecond},
	})
	if want := "Times (CPU): calls 2 s (3 s), load 1 s (1 s); together 3 s (4 s).\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCommandTimes(t *testing.T) {
	var out strings.Builder
	s := &setting{out: &out}
	if err := s.goCommand(t.Context(), &out, ".", "version"); err != nil {
		t.Fatal(err)
	}
	if s.cpu <= 0 || !strings.Contains(out.String(), " s, CPU ") {
		t.Errorf("CPU %v, and the command printed %q; want its times", s.cpu, &out)
	}
}

// The output of a failed program may be pages before the end of the laboratory's.
func TestErrorRepeatsTheEndOfTheOutput(t *testing.T) {
	err := experiment{name: "calls", short: []string{"./calls -unknown"}}.run(t.Context(), &setting{short: true, out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "-unknown") || !strings.Contains(err.Error(), "not defined") {
		t.Errorf("error %v, want what the program printed", err)
	}
}
