// Command conformance runs other people's tests against perfline:
//
//	go run -C lab ./conformance                 # all suites
//	go run -C lab ./conformance -only sdk       # the suites with "sdk" in their names
//	go run -C lab ./conformance -keep FOLDER    # leaves the workspace there
//	go run -C lab ./conformance -into ../docs/lab/conformance.md
//
// A suite is the tests of a module of somebody else. They are copied from the module cache into a
// workspace, adapted by this program and by the files in testdata, and run there. Nothing of them
// is committed.
//
// Each test that fails, and each that was left out because it does not compile against perfline,
// has a line in decisions.txt: a decision, with the sentence that it breaks, or why the test does
// not apply. The command fails for a test without a line, for a line without a test, and for a
// suite that could not be had: that one says NOT RUN. A suite with such failures runs again, up to
// three times in all: some tests fail by chance on a busy machine, with OpenTelemetry's provider,
// too. A test that fails in one run and passes in another has passed, and the output names the
// test.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/lab/internal/figures"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// marker is where a document has the table.
const marker = "conformance"

func command(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("conformance", flag.ContinueOnError)
	only := f.String("only", "", "run the suites whose names match this `expression`")
	keep := f.String("keep", "", "make the workspace in this `folder`, and leave it there")
	into := f.String("into", "", "also write the table into this `document`, between its markers")
	path := f.String("figures", "", "append the results to this `file`")
	if err := f.Parse(args); err != nil {
		return err
	}
	names, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only %q: %w", *only, err)
	}
	decided, err := readDecisions("conformance/decisions.txt")
	if err != nil {
		return err
	}
	if *into != "" {
		if *only != "" {
			return fmt.Errorf("-into %s: needs all suites, without -only", *into)
		}
		if err := document.Check(*into, marker); err != nil {
			return err
		}
	}
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	folder := *keep
	if folder == "" {
		if folder, err = os.MkdirTemp("", "conformance"); err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	} else if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	var errs []error
	var table strings.Builder
	table.WriteString("| tests | version | pass | fail | left out |\n|---|---|---:|---:|---:|\n")
	for _, s := range suites {
		if !names.MatchString(s.name) || ctx.Err() != nil {
			continue
		}
		r := s.run(ctx, root, filepath.Join(folder, s.name), decided[s.name])
		wrong := r.judge(decided[s.name])
		fmt.Fprint(out, r.text(s.name, wrong))
		table.WriteString(r.row(&s))
		if len(wrong) > 0 {
			errs = append(errs, fmt.Errorf("%s: %d tests or lines are wrong", s.name, len(wrong)))
		}
		met := len(wrong) == 0
		errs = append(errs, figures.Add(*path, "tests that pass, "+s.what, "all others explained",
			r.summary(), &met))
	}
	if *into != "" && ctx.Err() == nil {
		errs = append(errs, document.Write(*into,
			document.Part{Name: marker, Text: table.String()}))
	}
	return errors.Join(append(errs, context.Cause(ctx))...)
}
