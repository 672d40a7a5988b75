package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/lab/internal/figures"
	"github.com/perfline/perfline/waits"
)

// The service's process is the test's program again.
func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" {
		if err := command(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

// The tables of made-up runs. The command itself runs in .ci/run, in short form and in full.
func TestCausesText(t *testing.T) {
	o := options{series: []series{
		{causes: causes[:1], wanted: 2, runs: []run{
			{parts: []part{{cause: causes[0], takes: large}}, verdict: verdict{cause: true, holder: true, both: true, explained: 0.9},
				outcome: outcome{Sentence: "the sentence", Wall: large, Sum: large, All: large, Waterfall: "the waterfall\n"}},
			{parts: []part{{cause: causes[0], takes: large}}, verdict: verdict{both: true}, outcome: outcome{Wall: large, Sum: large - large/100, All: large}},
		}},
		{causes: causes[:2], wanted: 1, runs: []run{
			{parts: []part{{cause: causes[0], takes: large}, {cause: causes[1], takes: little}}, verdict: verdict{cause: true, holder: true, both: true}},
		}},
	}}
	text := causesText(o)
	for _, want := range []string{
		"2 of 3 sentences are right (66.7 %)", "by 1.00 % at most",
		"| " + o.series[0].title() + " | 1 of 2 | 1 of 2 |", "| " + o.series[1].title() + " | 1 of 1 | 1 of 1 | 1 of 1 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q:\n%s", want, text)
		}
	}
	if examples := examplesText(o); !strings.Contains(examples, ": the sentence\n\n```text\nthe waterfall\n```") {
		t.Errorf("the examples lack the right run:\n%s", examples)
	}
	err := o.check()
	for _, want := range []string{"1 sentences of 2 are right, must be 85 %", "2 sentences of 3 are right, must be 95 %"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the check says %v, want %q in it", err, want)
		}
	}
}

func TestCostText(t *testing.T) {
	costs := []snapshotCost{{bytes: costBytes, writing: 2 * mostWriting, analysing: time.Second, processor: time.Millisecond, lasted: time.Second}}
	text, err := costText(costs, []time.Duration{1}, []time.Duration{2}, "")
	for _, want := range []string{"| writing the snapshot | " + milliseconds(2*mostWriting) + " |", "| while a snapshot is written and read (1) |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table has no %q:\n%s", want, text)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "writing the snapshot takes") || strings.Contains(err.Error(), "CPU of the process") {
		t.Errorf("got %v, want an error about writing only", err)
	}
}

func TestFlagsErrors(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"an argument", "now", `arguments ["now"]`},
		{"no series", "-only lunch", "matches no series"},
		{"no expression", "-only (", "-only \"(\""},
		{"a short run into a document", "-short -into waits.md", "needs all series in full"},
		{"a part into a document", "-only mutex -into waits.md", "needs all series in full"},
		{"unknown", "-fast", "not defined: -fast"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parse(strings.Fields(c.args), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// The document that the command writes into has all the markers that it needs.
func TestDocumentHasMarkers(t *testing.T) {
	for file, parts := range map[string][]string{
		"../../docs/lab/waits.md": {causesPart, examplesPart, sdkPart, costPart},
		"../../docs/agents.md":    {agentPart},
	} {
		if err := document.Check(file, parts...); err != nil {
			t.Error(err)
		}
	}
}

func TestSeries(t *testing.T) {
	all := allSeries()
	idle := 0
	for _, c := range causes {
		if c.idles {
			idle++
		}
	}
	if n := len(causes) - 2; len(all) != len(causes)+n*(n-1)/2+idle {
		t.Errorf("there are %d series of %d causes, of which one has no pairs and one has pairs with %d causes", len(all), len(causes), idle)
	}
	for i := range all {
		s := &all[i]
		larger, first := map[string]int{}, map[string]int{}
		for n := range fullRuns {
			parts := s.planned(n)
			larger[run{parts: parts}.larger().cause.name]++
			first[parts[0].cause.name]++
			if s.limits() && slices.ContainsFunc(parts, func(p part) bool { return p.way == computing }) {
				t.Errorf("%s: parts %v compute, and the limit would stop them", s.name(), parts)
			}
		}
		for _, c := range s.causes {
			if want := fullRuns / len(s.causes); larger[c.name] != want || first[c.name] != want {
				t.Errorf("%s: %s is the larger cause %d times and the first one %d times, want %d", s.name(), c.name, larger[c.name], first[c.name], want)
			}
		}
	}
}

// The series of a short run have each cause once, and a service of its own has those that need it.
func TestShortSeries(t *testing.T) {
	o, err := parse([]string{"-short"}, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range o.series {
		names = append(names, o.series[i].name())
	}
	if want := []string{"mutex+processors+assist+dependency+inner+library+pool+reader+syscall+pipe+cpu+timer", others, limited}; !slices.Equal(names, want) {
		t.Errorf("the series are %q, want %q", names, want)
	}
	if o, err = parse([]string{"-short", agentWord}, new(bytes.Buffer)); err != nil || len(o.series) != 1 || o.series[0].name() != names[0] {
		t.Errorf("an agent gets %d series, %v; want only the first one", len(o.series), err)
	}
}

// A series that the machine cannot have is neither right nor wrong, and nothing leaves it out.
func TestNotRun(t *testing.T) {
	right := run{parts: []part{{cause: causes[0], takes: large}}, verdict: verdict{cause: true, holder: true, both: true}, outcome: outcome{Wall: large, Sum: large, All: large}}
	o := options{series: []series{
		{causes: causes[:1], wanted: 1, runs: []run{right}},
		{causes: causes[1:2], wanted: 1, notRun: "no groups"},
		{causes: causes[:2], wanted: 1, notRun: "no groups"},
	}}
	if err := o.check(); err != nil {
		t.Errorf("the check says %v, want nothing", err)
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"causes": {causesText(o), []string{"1 of 1 sentences", "2 series are NOT RUN", "| " + o.series[1].title() + " | NOT RUN: no groups | – | – |\n", "| " + o.series[2].title() + " | NOT RUN: no groups | – | – | – |\n"}},
		"agent":  {agentText(o), []string{"1 of 1 slow requests", "| " + o.series[1].title() + " | NOT RUN | no groups |\n"}},
		"short":  {shortText(o), []string{o.series[1].name() + ": NOT RUN: no groups\n"}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, c.text)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "figures")
	o.figures = file
	if err := o.addFigure(); err != nil {
		t.Fatal(err)
	}
	if all, err := figures.Read(file); err != nil || len(all) != 1 || all[0].Value != "1 of 1, 2 series NOT RUN" {
		t.Errorf("the figures are %v, %v", all, err)
	}
	o.series = o.series[1:]
	if text := causesText(o); !strings.Contains(text, "0 of 0 sentences are right (–)") {
		t.Errorf("without a run, the text is\n%s", text)
	}
}

// A request without a result is an error in a short run, too.
func TestCheckResults(t *testing.T) {
	result := func(o outcome) options {
		return options{series: []series{{causes: causes[:1], runs: []run{{outcome: o}}}}}
	}
	if err := result(outcome{Sentence: "the sentence"}).checkResults(); err != nil {
		t.Errorf("a result: %v", err)
	}
	for _, o := range []outcome{{}, {Sentence: "the sentence", Trouble: "no waterfall"}} {
		if err := result(o).checkResults(); err == nil || !strings.Contains(err.Error(), "mutex: ") {
			t.Errorf("the error is %v, want one about the mutex", err)
		}
	}
}

// The judge finds wrong sentences, and times that do not add up.
func TestJudge(t *testing.T) {
	byName := map[string]cause{}
	for _, c := range causes {
		byName[c.name] = c
	}
	mutex, timer := part{cause: byName["mutex"], takes: large}, part{cause: byName["timer"], takes: little}
	page, spool := part{cause: byName[limited], takes: large}, part{cause: byName["pipe"], takes: large}
	const locked, slept = "waited for a mutex that GET /search held in (*index).rebuild", "waited for a timer in main.pause"
	for _, c := range []struct {
		name     string
		parts    []part
		sentence string
		want     verdict
	}{
		{"right", []part{mutex}, "90 ms of 91 ms: " + locked, verdict{cause: true, holder: true, both: true}},
		{"right of two", []part{timer, mutex}, "90 ms of 131 ms: " + locked + "; 40 ms: " + slept, verdict{cause: true, holder: true, both: true}},
		{"the smaller one first", []part{timer, mutex}, "90 ms of 131 ms: " + slept + "; 40 ms: " + locked, verdict{both: true}},
		{"one of two", []part{mutex, timer}, "90 ms of 131 ms: " + locked, verdict{cause: true, holder: true}},
		{"another cause", []part{mutex}, "90 ms of 91 ms: ran on a processor in (*page).layout", verdict{both: true}},
		{"no holder", []part{mutex}, "90 ms of 91 ms: waited for a mutex in (*index).lookup", verdict{cause: true, both: true}},
		{"another holder", []part{mutex}, "90 ms of 91 ms: waited for a mutex that GET /health held in (*index).rebuild", verdict{cause: true, both: true}},
		{"the holder's wait of another request", []part{mutex}, "90 ms of 91 ms: waited for another request, which " + locked, verdict{holder: true, both: true}},
		{"another function", []part{mutex}, "90 ms of 91 ms: waited for a mutex that GET /search held in (*index).lookup", verdict{cause: true, both: true}},
		{"other programs", []part{mutex}, "60 ms of 91 ms: other programs had the processors; 30 ms: " + locked, verdict{both: true, others: true}},
		{"other programs, as planted", []part{{cause: byName[others], takes: large}}, "60 ms of 91 ms: other programs had the processors", verdict{cause: true, holder: true, both: true}},
		{"a goroutine to blame for other programs", []part{{cause: byName[others], takes: large}}, "60 ms of 91 ms: other programs had the processors; 30 ms: waited for a processor that GET /health used in main.f",
			verdict{holder: true, both: true}},
		{"a limit", []part{page}, "80 ms of 110 ms: the limit of 0.25 processors stopped the process; 27 ms: ran on a processor in (*page).layout", verdict{cause: true, holder: true, both: true}},
		{"another limit", []part{page}, "80 ms of 110 ms: the limit of 0.5 processors stopped the process", verdict{cause: true, both: true}},
		{"other programs in place of a limit", []part{page}, "80 ms of 110 ms: other programs had the processors", verdict{both: true, others: true}},
		{"a goroutine to blame for a limit", []part{page}, "80 ms of 110 ms: the limit of 0.25 processors stopped the process; 27 ms: waited for a processor that GET /health used in main.f",
			verdict{holder: true, both: true}},
		{"a pipe", []part{spool}, "112 ms of 112 ms: waited for a file or a pipe in (*spool).read", verdict{cause: true, holder: true, both: true}},
		{"output of a program", []part{spool, timer}, "112 ms of 142 ms: waited for a file or a pipe in main.convert; 30 ms: " + slept, verdict{cause: true, holder: true, both: true}},
		{"a pipe elsewhere", []part{spool}, "112 ms of 112 ms: waited for a file or a pipe in (*shop).order", verdict{cause: true, both: true}},
		{"a system call in place of a pipe", []part{spool}, "112 ms of 112 ms: system call in (*spool).read", verdict{both: true}},
		{"a request within the service", []part{{cause: byName["inner"], takes: large}}, "112 ms of 112 ms, in span GET: waited for GET /quote, which waited for a timer in (*shop).quote", verdict{cause: true, holder: true, both: true}},
		{"the network of a request within the service", []part{{cause: byName["inner"], takes: large}}, "112 ms of 112 ms, in span GET: waited for the network in (*shop).get", verdict{both: true}},
		{"a library", []part{{cause: byName["library"], takes: large}}, "112 ms of 112 ms, in span export: waited for a timer in main.send via backoff.Retry[...]", verdict{cause: true, holder: true, both: true}},
		{"a library without the program", []part{{cause: byName["library"], takes: large}}, "112 ms of 112 ms, in span export: waited for a timer in backoff.Retry[...]", verdict{both: true}},
		{"what another request has in a library", []part{{cause: byName["library"], takes: large}}, "112 ms of 112 ms, in span export: waited for GET /archive, which waited for the network in (*shop).get", verdict{cause: true, holder: true, both: true}},
		{"nothing", []part{mutex}, "", verdict{both: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := outcome{Sentence: c.sentence, Wall: large, Sum: large, All: large}
			if got := judge(c.parts, o); got != c.want {
				t.Errorf("the verdict on %q is %+v, want %+v", c.sentence, got, c.want)
			}
		})
	}
}

func TestJudgeBooks(t *testing.T) {
	for _, c := range []struct {
		name string
		o    outcome
		want string
	}{
		{"equal", outcome{Wall: large, Sum: large, All: large}, ""},
		{"within 2 %", outcome{Wall: 100 * time.Millisecond, Sum: 98 * time.Millisecond, All: 102 * time.Millisecond}, ""},
		{"states are missing", outcome{Wall: 100 * time.Millisecond, Sum: 97 * time.Millisecond, All: 100 * time.Millisecond}, "the states take 97ms"},
		{"with gaps", outcome{Wall: 100 * time.Millisecond, Sum: 100 * time.Millisecond, Gaps: 40 * time.Millisecond, All: 60 * time.Millisecond}, ""},
		{"too many causes", outcome{Wall: 100 * time.Millisecond, Sum: 100 * time.Millisecond, All: 103 * time.Millisecond}, "the causes take 103ms"},
		{"overlap", outcome{Wall: large, Sum: large, All: large, Overlap: "1s … 2s after 3s"}, "overlap"},
		{"none", outcome{Trouble: "no snapshot"}, "no snapshot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Causes = []found{{Kind: waits.Timer, Duration: c.o.All}}
			got := judge([]part{{cause: causes[0], takes: large}}, c.o).books
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}
