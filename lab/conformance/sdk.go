package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const sdkModule = "go.opentelemetry.io/otel/sdk"

// copySDK copies the SDK. Its providers pass their calls to what trace.Substitute returns, which
// package shim sets.
func (w *workspace) copySDK(ctx context.Context) error {
	if err := w.copyModule(ctx, sdkModule, otelVersion, "sdk"); err != nil {
		return err
	}
	if err := w.addFiles("sdk", "sdk/trace"); err != nil {
		return err
	}
	path := filepath.Join(w.folder, "sdk/trace/provider.go")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(data)
	for after, add := range map[string]string{
		"func (p *TracerProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {\n": "if s := p.substitute(); s != nil { return s.Tracer(name, opts...) }\n",
		"func (p *TracerProvider) RegisterSpanProcessor(sp SpanProcessor) {\n":                      "if s := p.substitute(); s != nil { s.RegisterSpanProcessor(sp); return }\n",
		"func (p *TracerProvider) UnregisterSpanProcessor(sp SpanProcessor) {\n":                    "if s := p.substitute(); s != nil { s.UnregisterSpanProcessor(sp); return }\n",
		"func (p *TracerProvider) ForceFlush(ctx context.Context) error {\n":                        "if s := p.substitute(); s != nil { return s.ForceFlush(ctx) }\n",
		"func (p *TracerProvider) Shutdown(ctx context.Context) error {\n":                          "if s := p.substitute(); s != nil { return s.Shutdown(ctx) }\n",
		"\ttp.spanProcessors.Store(&spss)\n":                                                        "tp.makeSubstitute(o)\n",
	} {
		if strings.Count(text, after) != 1 {
			return fmt.Errorf("%s of %s: %q is there %d times, must be there once", path,
				otelVersion, after, strings.Count(text, after))
		}
		text = strings.Replace(text, after, after+add, 1)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// recordingSpan is the SDK's type of a span that records, where it is not part of a function's
// name.
var recordingSpan = regexp.MustCompile(`( |[a-z0-9]\.\()\*recordingSpan\b`)

// sdkSuite is the SDK's own tests. They are in a package of their own, because package trace cannot
// import what imports it.
func sdkSuite(name, what, form string) suite {
	const folder = "trace/conformance"
	return suite{
		name: name, what: what, module: sdkModule, version: otelVersion, packages: []string{folder},
		prune: true, skip: []string{"TestNilSpanEnd"}, env: []string{"PERFLINE_PROVIDER=" + form},
		adapt: func(w *workspace, module string) error {
			to := filepath.Join(module, folder)
			if err := os.MkdirAll(to, 0o755); err != nil {
				return err
			}
			files, err := filepath.Glob(filepath.Join(module, "trace/*_test.go"))
			if err != nil {
				return err
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				moved := packageClause.ReplaceAllString(string(text),
					"package trace\n\nimport . \"go.opentelemetry.io/otel/sdk/trace\"")
				// the exporter gets perfline's spans
				moved = strings.ReplaceAll(moved, "s.(*snapshot)", "snapshotOf(s)")
				moved = strings.ReplaceAll(moved, "s.spanContext.", "s.SpanContext().")
				// the tests look at their exporter without a flush
				moved = strings.ReplaceAll(moved, "te.mu.RLock()", "HandOverEnded(); te.mu.RLock()")
				// its name in this package
				moved = strings.ReplaceAll(moved, "sdk/trace.testError",
					"sdk/trace/conformance.testError")
				moved = recordingSpan.ReplaceAllString(moved, "${1}ReadWriteSpan")
				if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), []byte(moved),
					0o644); err != nil {
					return err
				}
			}
			return w.addFiles("sdktests", filepath.Join("sdk", folder))
		},
	}
}
