package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// errNotRun is wrapped by the errors of a suite that could not be had.
var errNotRun = errors.New("NOT RUN")

// Results are the results of a suite's tests.
type results struct {
	passed, skipped int
	failed          []string // names of tests, with the folder of their package in front
	left            []string // tests that were left out
	once            []string // tests that failed in one run, and passed in another
	err             error    // NOT RUN
}

// An event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

// name returns the name of the test that an event is of: with the folder of its package within the
// module in front.
func (e *event) name(module, test string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(e.Package, module), "/")+"/"+
		test, "/")
}

// events returns the events that the go command has printed, and all text.
func events(printed []byte) (all []event, text string, err error) {
	var b strings.Builder
	lines := bufio.NewScanner(bytes.NewReader(printed))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		e := event{Output: lines.Text() + "\n"}
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			all = append(all, e)
		}
		b.WriteString(e.Output)
	}
	return all, b.String(), lines.Err()
}

// read sets r to what go test -json has printed of a module: with -list, and when it ran the tests.
func (r *results) read(module string, list, run []byte) error {
	listed, _, err := events(list)
	if err != nil {
		return err
	}
	all, text, err := events(run)
	if err != nil {
		return err
	}
	*r = results{left: r.left, once: r.once}
	ended, failures, broken := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range all {
		name := e.name(module, e.Test)
		ended[name] = ended[name] || e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
		switch {
		case e.Test == "":
			broken[name] = broken[name] || e.Action == "fail"
		case e.Action == "fail":
			failures[name] = true
		case e.Action == "pass":
			r.passed++
		case e.Action == "skip":
			r.skipped++
		}
	}
	// a package that fails for another reason than a test, or does not compile
	for name, is := range broken {
		if is && !slices.ContainsFunc(slices.Collect(maps.Keys(failures)),
			func(test string) bool { return strings.HasPrefix(test, name) }) {
			failures[name+"(package)"] = true
		}
	}
	for _, e := range listed { // one that panics ends its package
		for test := range strings.FieldsSeq(e.Output) {
			if name := e.name(module, test); strings.HasPrefix(test, "Test") && !ended[name] &&
				!slices.Contains(r.left, name) {
				failures[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		// A test fails with its subtests, and a package with its tests.
		if !slices.ContainsFunc(slices.Collect(maps.Keys(failures)), func(other string) bool {
			return strings.HasPrefix(other, strings.TrimSuffix(name, "/")+"/") && other != name
		}) {
			r.failed = append(r.failed, strings.TrimSuffix(name, "/"))
		}
	}
	if r.passed == 0 {
		return fmt.Errorf("%w: no test passed; the output ends with\n%s", errNotRun,
			text[max(0, len(text)-2000):])
	}
	return nil
}

func (r *results) summary() string {
	if r.err != nil {
		return "NOT RUN"
	}
	text := fmt.Sprintf("%d of %d", r.passed, r.passed+len(r.failed))
	if r.left != nil {
		text += fmt.Sprintf("; %d left out", len(r.left))
	}
	return text
}

// row returns the suite's row of the table.
func (r *results) row(s *suite) string {
	if r.err != nil {
		return fmt.Sprintf("| %s | %s | NOT RUN | | |\n", s.what, s.version)
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d |\n", s.what, s.version, r.passed, len(r.failed),
		len(r.left))
}

// agree compares r with the failures of the run before. What failed in one of the two runs only,
// has passed.
func (r *results) agree(before []string) {
	both := r.failed[:0:0]
	for _, name := range r.failed {
		if slices.Contains(before, name) {
			both = append(both, name)
		} else {
			r.once = append(r.once, name)
		}
	}
	for _, name := range before {
		if !slices.Contains(both, name) {
			r.once = append(r.once, name)
		}
	}
	r.passed += len(r.failed) - len(both)
	r.failed = both
}

// explained reports whether each test that failed has a decision.
func (r *results) explained(decided map[string]string) bool {
	return !slices.ContainsFunc(r.failed, func(name string) bool { return decided[name] == "" })
}

// judge returns an error for each test that failed, or was left out, without a decision, and for
// each decision without such a test.
func (r *results) judge(decided map[string]string) (wrong []error) {
	if r.err != nil {
		return []error{r.err}
	}
	happened := map[string]bool{}
	unexplained := func(names []string, what string) {
		for _, name := range names {
			happened[name] = true
			if decided[name] == "" {
				wrong = append(wrong, fmt.Errorf("%s: %s, and no line says why", name, what))
			}
		}
	}
	unexplained(r.failed, "failed")
	unexplained(r.left, "left out")
	for _, name := range slices.Sorted(maps.Keys(decided)) {
		if !happened[name] {
			wrong = append(wrong,
				fmt.Errorf("%s: a line says %q, but the test passes or is gone", name,
					decided[name]))
		}
	}
	return wrong
}

func (r *results) text(suite string, wrong []error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %s", suite, r.summary())
	if r.skipped > 0 {
		fmt.Fprintf(&b, "; %d skipped by themselves", r.skipped)
	}
	b.WriteString("\n")
	for _, name := range r.once {
		fmt.Fprintf(&b, "    %s: failed in one run, and passed in another\n", name)
	}
	for _, err := range wrong {
		fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(err.Error(), "\n", "\n    "))
	}
	return b.String()
}
