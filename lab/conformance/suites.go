package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A suite is the tests of a module.
type suite struct {
	name    string // in decisions.txt, and the folder of the copy
	what    string
	module  string
	version string // empty: the module is testdata/NAME

	// The implementation of the module goes in these files, by names with blanks between. Those of
	// testdata/NAME come in their place. They may need other modules of testdata, or other suites'
	// modules, in the same workspace.
	remove string
	needs  []string

	// changes the copy; nil puts perfline's provider in place of the SDK's
	adapt func(w *workspace, module string) error

	packages []string // the folders with the tests to run, within the module; nil: all folders
	prune    bool     // tests that do not compile are left out
	skip     []string // tests that end or disturb the whole run; left out, too
	env      []string // of the tests
	client   bool     // the tests make no provider
}

const (
	otelVersion    = "v1.47.0"
	contribVersion = "v0.72.0"
	contrib        = "go.opentelemetry.io/contrib/"
	otlpExporters  = "go.opentelemetry.io/otel/exporters/otlp/"
)

// The suites, in the order of their runs. Those of instrumentation run unchanged, with perfline's
// provider in place of the SDK's; in the others, perfline takes the place of the module's own
// implementation.
var suites = []suite{
	sdkSuite("sdk", "OpenTelemetry's sdk/trace over processors", "processors"),
	sdkSuite("sdk-journals", "OpenTelemetry's sdk/trace over journals", "journals"),
	{name: "otelhttp", what: "otelhttp over our provider", module: contrib +
		"instrumentation/net/http/otelhttp", version: contribVersion},
	{name: "otelgrpc", what: "otelgrpc over our provider", module: contrib +
		"instrumentation/google.golang.org/grpc/otelgrpc", version: contribVersion},
	{name: "otelhttptrace", what: "otelhttptrace over our provider", module: contrib +
		"instrumentation/net/http/httptrace/otelhttptrace", version: contribVersion},
	{name: "baggagecopy", what: "baggagecopy over our provider", module: contrib +
		"processors/baggagecopy", version: "v0.16.3"},
	{name: "otelgin", what: "otelgin over our provider", module: contrib +
		"instrumentation/github.com/gin-gonic/gin/otelgin", version: "v0.65.0"},
	{name: "otelrestful", what: "otelrestful over our provider", module: contrib +
		"instrumentation/github.com/emicklei/go-restful/otelrestful", version: contribVersion},
	{name: "otelconnect", what: "otelconnect over our provider",
		module: "connectrpc.com/otelconnect", version: "v0.12.0"},
	{name: "otelsql", what: "otelsql over our provider", module: "github.com/XSAM/otelsql",
		version: "v0.44.0"},
	{name: "otelpgx", what: "otelpgx over our provider", module: "github.com/exaring/otelpgx",
		version: "v0.13.0"},
	{name: "redisotel", what: "redisotel over our provider",
		module: "github.com/redis/go-redis/extra/redisotel/v9", version: "v9.23.0"},
	{name: "otelprofiling", what: "grafana/otel-profiling-go over our provider",
		module: "github.com/grafana/otel-profiling-go", version: "v0.7.0"},
	{
		name: "bridgehttp", what: "otelhttp's, with our middleware", module: contrib +
			"instrumentation/net/http/otelhttp", version: contribVersion,
		remove: "handler.go transport.go config.go", packages: []string{"."}, prune: true,
		skip: []string{"TestHandlerBasics"},
	},
	{
		name: "bridgegrpc", what: "otelgrpc's, with our handlers", module: contrib +
			"instrumentation/google.golang.org/grpc/otelgrpc", version: contribVersion,
		remove:   "config.go interceptor.go metadata_supplier.go stats_handler.go",
		packages: []string{"."}, prune: true,
	},
	{
		name: "otlptrace", what: "the transforms of otlptrace, with our encoder",
		module: otlpExporters + "otlptrace", version: otelVersion,
		remove: "exporter.go internal/tracetransform/attribute.go internal/tracetransform/instrumentation.go internal/tracetransform/resource.go internal/tracetransform/span.go",
		needs:  []string{"adapter"}, packages: []string{"internal/tracetransform"}, prune: true,
		client: true,
	},
	{
		name: "otlploggrpc", what: "the transforms of otlploggrpc, with our encoder",
		module: otlpExporters + "otlplog/otlploggrpc", version: "v0.23.0",
		remove: "internal/transform/log.go", needs: []string{"adapter"},
		packages: []string{"internal/transform"}, prune: true, client: true,
	},
	{
		name: "otlptracegrpc", what: "the client of otlptracegrpc, with our delivery",
		module: otlpExporters + "otlptrace/otlptracegrpc", version: otelVersion,
		remove: "client.go options.go internal/retry/retry.go",
		needs:  []string{"adapter", "otlptrace"}, packages: []string{".", "internal/retry"},
		prune: true, client: true,
		skip: []string{"internal/retry/TestThrottledRetryGreaterThanMaxElapsedTime"},
	},
	{
		name: "otlptracehttp", what: "the client of otlptracehttp, with our delivery",
		module: otlpExporters + "otlptrace/otlptracehttp", version: otelVersion,
		remove: "client.go options.go internal/retry/retry.go",
		needs:  []string{"adapter", "otlptrace"}, packages: []string{".", "internal/retry"},
		prune: true, client: true,
		skip: []string{"internal/retry/TestThrottledRetryGreaterThanMaxElapsedTime",
			"TestCancelledContext"},
	},
	{name: "pprof", what: "CheckValid, Merge and the round trip of google/pprof",
		module: "github.com/perfline/perfline/conformance/pprof", client: true},
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

func (s *suite) try(ctx context.Context, root, folder string, decided map[string]string,
	r *results) error {
	modules := []string{"shim", "sdk"}
	for _, name := range append(slices.Clone(s.needs), s.name) {
		if !slices.Contains(modules, name) && s.module != sdkModule {
			modules = append(modules, name)
		}
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
	for _, name := range s.needs {
		needed := suite{name: name}
		if i := slices.IndexFunc(suites, func(o suite) bool { return o.name == name }); i >= 0 {
			needed = suites[i]
		}
		if err := needed.place(ctx, w); err != nil {
			return err
		}
	}
	module := filepath.Join(folder, "sdk")
	if s.module != sdkModule {
		module = filepath.Join(folder, s.name)
		if err := s.place(ctx, w); err != nil {
			return err
		}
	}
	adapt := s.adapt
	if adapt == nil && !s.client {
		adapt = (*workspace).substituteIn
	}
	if adapt != nil {
		if err := adapt(w, module); err != nil {
			return err
		}
	}
	return s.test(ctx, w, module, decided, r)
}

// place makes the suite's module in a workspace.
func (s *suite) place(ctx context.Context, w *workspace) error {
	if s.version != "" {
		if err := w.copyModule(ctx, s.module, s.version, s.name); err != nil {
			return err
		}
	}
	for name := range strings.FieldsSeq(s.remove) {
		if err := os.Remove(filepath.Join(w.folder, s.name, name)); err != nil {
			return err
		}
	}
	if s.remove != "" || s.version == "" {
		return w.addFiles(s.name, s.name)
	}
	return nil
}

// test runs the tests of a module in the workspace.
func (s *suite) test(ctx context.Context, w *workspace, module string, decided map[string]string,
	r *results) error {
	r.left = slices.Clone(s.skip)
	prefix, which := s.module, []string{"./..."}
	if s.packages != nil {
		which = nil
	}
	for _, p := range s.packages {
		which = append(which, "./"+p)
		if s.prune {
			left, err := w.prune(ctx, filepath.Join(module, p))
			if err != nil {
				return err
			}
			for _, name := range left {
				r.left = append(r.left, path.Join(p, name))
			}
		}
	}
	if len(s.packages) == 1 {
		prefix = path.Join(s.module, s.packages[0])
		for i, name := range r.left {
			r.left[i] = path.Base(name)
		}
	}
	made := filepath.Join(w.folder, "providers")
	w.env = append(w.env, "PERFLINE_PROVIDERS="+made)
	w.env = append(w.env, s.env...)
	list, err := w.goCommand(ctx, module,
		append([]string{"test", "-vet=off", "-json", "-list", "^Test"}, which...)...)
	if err != nil {
		return err
	}
	skip := "^$"
	for _, name := range s.skip {
		skip += "|^" + path.Base(name) + "$"
	}
	for run := range 3 {
		before := r.failed
		// fails with a test
		printed, _ := w.goCommand(ctx, module,
			append([]string{"test", "-vet=off", "-count=1", "-timeout", "5m", "-json", "-skip",
				skip}, which...)...)
		if err := r.read(prefix, list, printed); err != nil {
			return err
		}
		if run > 0 {
			r.agree(before)
		}
		if r.explained(decided) {
			break
		}
	}
	if all, err := os.ReadFile(made); !s.client && (err != nil || len(all) == 0) {
		return fmt.Errorf("%w: the tests made no provider of perfline's", errNotRun)
	}
	return ctx.Err()
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)`)

// substituteIn adds a test file to each package with tests below a folder. It puts perfline's
// provider in place of the SDK's.
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
		if err := os.WriteFile(filepath.Join(folder, "perfline_conformance_test.go"), text,
			0o644); err != nil {
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
