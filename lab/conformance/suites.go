package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// A suite is the tests of a module.
type suite struct {
	name    string // in decisions.txt, and the folder of the copy
	what    string
	module  string
	version string

	remove string // files of the module's implementation, by names with blanks between; those of testdata/NAME come in their place
	adapt  func(w *workspace, module string) error

	folder string   // of the tests that are run, within the module; empty: all
	prune  bool     // tests that do not compile are left out
	skip   []string // tests that end the whole run; left out, too
	env    []string // of the tests
}

const (
	otelVersion    = "v1.47.0"
	contribVersion = "v0.72.0"
	contrib        = "go.opentelemetry.io/contrib/"
)

// The suites, in the order of their runs. Those of instrumentation run unchanged, with perfline's provider in place of the SDK's.
var suites = []suite{
	sdkSuite("sdk", "OpenTelemetry's sdk/trace over processors", "processors"),
	sdkSuite("sdk-journals", "OpenTelemetry's sdk/trace over journals", "journals"),
	{name: "otelhttp", what: "otelhttp over our provider", module: contrib + "instrumentation/net/http/otelhttp", version: contribVersion},
	{name: "otelgrpc", what: "otelgrpc over our provider", module: contrib + "instrumentation/google.golang.org/grpc/otelgrpc", version: contribVersion},
	{name: "otelhttptrace", what: "otelhttptrace over our provider", module: contrib + "instrumentation/net/http/httptrace/otelhttptrace", version: contribVersion},
	{name: "baggagecopy", what: "baggagecopy over our provider", module: contrib + "processors/baggagecopy", version: "v0.16.3"},
	{name: "otelgin", what: "otelgin over our provider", module: contrib + "instrumentation/github.com/gin-gonic/gin/otelgin", version: "v0.65.0"},
	{name: "otelrestful", what: "otelrestful over our provider", module: contrib + "instrumentation/github.com/emicklei/go-restful/otelrestful", version: contribVersion},
	{name: "otelconnect", what: "otelconnect over our provider", module: "connectrpc.com/otelconnect", version: "v0.12.0"},
	{name: "otelsql", what: "otelsql over our provider", module: "github.com/XSAM/otelsql", version: "v0.44.0"},
	{name: "otelpgx", what: "otelpgx over our provider", module: "github.com/exaring/otelpgx", version: "v0.13.0"},
	{name: "redisotel", what: "redisotel over our provider", module: "github.com/redis/go-redis/extra/redisotel/v9", version: "v9.23.0"},
	{
		name: "bridgehttp", what: "otelhttp's, with our middleware", module: contrib + "instrumentation/net/http/otelhttp", version: contribVersion,
		remove: "handler.go transport.go config.go", folder: ".", prune: true, skip: []string{"TestHandlerBasics"},
	},
	{
		name: "bridgegrpc", what: "otelgrpc's, with our handlers", module: contrib + "instrumentation/google.golang.org/grpc/otelgrpc", version: contribVersion,
		remove: "config.go interceptor.go metadata_supplier.go stats_handler.go", folder: ".", prune: true,
	},
	{name: "otelprofiling", what: "grafana/otel-profiling-go over our provider", module: "github.com/grafana/otel-profiling-go", version: "v0.7.0"},
}

// run makes a workspace in a folder and runs the suite there.
func (s *suite) run(ctx context.Context, root, folder string, decided map[string]string) *results {
	r := &results{}
	if err := s.try(ctx, root, folder, decided, r); err != nil {
		if !errors.Is(err, errNotRun) {
			err = fmt.Errorf("%w: %w", errNotRun, err)
		}
		r.err = err
	}
	return r
}

func (s *suite) try(ctx context.Context, root, folder string, decided map[string]string, r *results) error {
	modules := []string{"shim", "sdk"}
	module := filepath.Join(folder, "sdk")
	if s.module != sdkModule {
		modules = append(modules, s.name)
		module = filepath.Join(folder, s.name)
	}
	w, err := newWorkspace(root, folder, modules)
	if err != nil {
		return err
	}
	if err := w.addFiles("shim", "shim"); err != nil {
		return err
	}
	if err := w.copySDK(ctx); err != nil {
		return err
	}
	if s.module != sdkModule {
		if err := w.copyModule(ctx, s.module, s.version, s.name); err != nil {
			return err
		}
	}
	if s.remove != "" {
		for name := range strings.FieldsSeq(s.remove) {
			if err := os.Remove(filepath.Join(module, name)); err != nil {
				return err
			}
		}
		if err := w.addFiles(s.name, s.name); err != nil {
			return err
		}
	}
	adapt := s.adapt
	if adapt == nil {
		adapt = (*workspace).substituteIn
	}
	if err := adapt(w, module); err != nil {
		return err
	}
	tests := filepath.Join(module, s.folder)
	if s.prune {
		if r.left, err = w.prune(ctx, tests); err != nil {
			return err
		}
	}
	made := filepath.Join(folder, "providers")
	w.env = append(w.env, "PERFLINE_PROVIDERS="+made)
	w.env = append(w.env, s.env...)
	which, skip := "./...", "^$"
	if s.skip != nil {
		skip = "^(" + strings.Join(s.skip, "|") + ")$"
		r.left = append(r.left, s.skip...)
	}
	if s.folder != "" {
		which = "."
	}
	list, err := w.goCommand(ctx, tests, "test", "-vet=off", "-json", "-list", "^Test", which)
	if err != nil {
		return err
	}
	for run := range 3 {
		before := r.failed
		printed, _ := w.goCommand(ctx, tests, "test", "-vet=off", "-count=1", "-timeout", "5m", "-json", "-skip", skip, which) // fails with a test
		if err := r.read(path.Join(s.module, s.folder), list, printed); err != nil {
			return err
		}
		if run > 0 {
			r.agree(before)
		}
		if r.explained(decided) {
			break
		}
	}
	if all, err := os.ReadFile(made); err != nil || len(all) == 0 {
		return fmt.Errorf("%w: the tests made no provider of perfline's", errNotRun)
	}
	return ctx.Err()
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)`)

// substituteIn adds a test file to each package with tests below a folder. It puts perfline's provider in place of the SDK's.
func (w *workspace) substituteIn(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return err
	}
	if len(files) > 0 {
		text, err := os.ReadFile(files[0])
		if err != nil {
			return err
		}
		clause := packageClause.FindString(string(text))
		if clause == "" {
			return fmt.Errorf("%s has no package clause", files[0])
		}
		text = []byte(clause + "\n\nimport _ \"github.com/perfline/perfline/conformance\"\n")
		if err := os.WriteFile(filepath.Join(folder, "perfline_conformance_test.go"), text, 0o644); err != nil {
			return err
		}
	}
	below, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, d := range below {
		if d.IsDir() && d.Name() != "testdata" {
			if err := w.substituteIn(filepath.Join(folder, d.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
