package repository_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// allowed says which folders of this module a folder may import. A package follows the rule
// of the longest folder that has it, so that a sub-package without a rule of its own follows
// its parent's. Data flows one way. Package bridge declares what outputs and recorders of slow
// requests get, and so they import it. The folder exporter is for every program that sends
// spans, and must not cost it the profiler, the requests in memory or the files for viewers.
// Requests in memory read profiles, and must not cost a program the sampler.
var allowed = map[string][]string{
	"internal/record":        {},
	"observer":               {"internal/record"},
	"marks":                  {"internal/record", "observer"},
	"blackbox":               {"internal", "internal/blackbox"},
	"internal/blackbox":      {"internal", "internal/record", "bridge", "internal/local", "internal/otlpenc", "internal/requests", "internal/stray"},
	"bridge":                 {"internal", "internal/record", "observer", "marks", "internal/spanlabels", "internal/keep", "internal/local", "internal/otlpenc", "internal/routes"},
	"bridge/bridgehttp":      {"internal", "internal/local", "internal/record", "observer", "bridge", "internal/spanlabels"},
	"bridge/bridgegrpc":      {"internal", "internal/local", "internal/record", "observer", "bridge", "internal/spanlabels"},
	"bridge/bridgelog":       {"bridge", "internal/otlpenc"},
	"profiling":              {"internal", "internal/remote", "internal/record", "observer", "marks", "profiling/profile", "internal/spanlabels"},
	"profiling/profile":      {"internal", "internal/record", "observer"},
	"internal/spanlabels":    {"internal"},
	"profiling/otlpprofiles": {"internal", "internal/continuous", "exporter", "profiling", "profiling/profile"},
	"profiling/pyroscope":    {"internal", "internal/continuous", "profiling"},
	"internal/continuous":    {"internal", "internal/record", "observer", "profiling", "profiling/profile"},
	"profiling/sessions":     {"internal", "internal/remote", "internal/profiles", "internal/record", "observer", "profiling", "profiling/profile"},
	"profiling/service":      {"internal", "internal/remote", "internal/serve", "internal/record", "observer", "guard", "profiling", "profiling/sessions"},
	"waits":                  {"internal", "bridge"},
	"waits/flight":           {"internal", "internal/record", "observer", "bridge", "waits", "internal/local", "internal/waiting"},
	"exporter":               {"internal", "internal/record", "observer", "bridge", "internal/otlpenc"},
	"internal/keep":          {"internal/record", "internal/local", "internal/routes"},
	"internal/local":         {},
	"internal/otlpenc":       {"internal", "internal/record", "observer", "internal/local"},
	"internal/profiles":      {"internal", "profiling/profile"},
	"internal/remote":        {"internal", "profiling/profile"},
	"requests":               {"internal/requests", "bridge", "waits", "profiling/profile"},
	"internal/requests":      {"internal", "internal/record", "observer", "bridge", "profiling/profile", "waits", "internal/local", "internal/otlpenc", "internal/profiles", "internal/routes", "internal/stray", "internal/waiting"},
	"internal/routes":        {"internal", "internal/local"},
	"internal/runtimestats":  {"internal", "internal/record", "observer", "exporter"},
	"internal/stray":         {"internal", "internal/record", "internal/local", "internal/waiting"},
	"internal/viewers":       {"internal", "internal/record", "observer", "internal/local", "internal/otlpenc", "internal/profiles", "internal/requests", "internal/waiting", "profiling/profile", "profiling/sessions", "waits"},
	"internal/waiting":       {"internal", "internal/local", "waits"},
	"live": {"", "internal", "internal/blackbox", "internal/waiting", "internal/remote", "internal/lookup", "internal/serve", "internal/record", "observer", "guard", "profiling", "profiling/sessions", "profiling/service", "waits",
		"internal/local", "internal/requests", "internal/routes", "internal/runtimestats", "internal/setup", "internal/stray", "live/internal/view"},
	"live/internal/view": {"internal", "internal/blackbox", "internal/record", "internal/remote", "internal/lookup", "observer", "profiling/profile", "profiling/sessions", "waits",
		"exporter", "internal/local", "internal/otlpenc", "internal/profiles", "internal/requests", "internal/routes", "internal/runtimestats", "internal/stray", "internal/viewers", "internal/waiting"},
	"guard":                  {"internal", "internal/record", "observer"},
	"internal":               {"internal/record"}, // which calls the program's code safely
	"internal/counts":        {"internal/record", "observer", "bridge", "exporter", "internal/requests", "internal/waiting", "profiling", "waits"},
	"internal/outputs":       {"internal", "exporter"},
	"internal/serve":         {"guard"},
	"internal/setup":         {"internal", "exporter", "internal/local", "internal/otlpenc", "internal/requests", "internal/routes", "internal/stray"},
	"internal/lookup":        {"internal/local", "internal/record", "internal/requests", "internal/routes", "internal/waiting", "waits", "profiling/profile", "profiling/sessions"},
	"internal/sinktest":      {"internal/record", "observer"},                                                      // for tests of bridge, too
	"internal/bothproviders": {"internal/record", "observer", "bridge", "internal/otlpenc", "internal/spanlabels"}, // for tests of bridge
	"":                       {"internal", "internal/blackbox", "requests", "internal/counts", "internal/continuous", "profiling/pyroscope", "internal/outputs", "internal/record", "observer", "marks", "bridge", "profiling", "profiling/profile", "profiling/sessions", "internal/spanlabels", "waits", "exporter", "internal/keep", "internal/local", "internal/otlpenc", "internal/requests", "internal/routes", "internal/runtimestats", "internal/setup", "internal/waiting"},
}

// onlyFor lists heavy imports: the prefix of import paths, and the folders whose packages alone may import them; ""
// is perfline itself. A program that mounts no handler must not pay for one.
var onlyFor = map[string][]string{
	"connectrpc.com/":                  {"profiling/service", "live"},
	module + "/live":                   {"live"},
	module + "/profiling/service":      {"profiling/service", "live"},
	module + "/waits/flight":           {"waits/flight"}, // programs choose these two in perfline.Config
	module + "/profiling/otlpprofiles": {"profiling/otlpprofiles"},

	module + "/internal/continuous": {"", "profiling/pyroscope", "profiling/otlpprofiles"},
	"golang.org/x/exp/":             {"waits/flight"},     // the reader of execution traces
	module + "/bridge/bridgelog":    {"bridge/bridgelog"}, // programs that use the log SDK

	"go.opentelemetry.io/otel/sdk/log": {"bridge/bridgelog"},
	"go.opentelemetry.io/otel/log":     {"bridge/bridgelog"},

	"go.opentelemetry.io/contrib/":               {""},                  // perfline.Start, which collects the runtime's metrics
	"go.opentelemetry.io/otel/exporters/otlp/":   {"internal/spanfuzz"}, // which tests compare with; exporter and internal/otlpmetrics do the same with fewer modules
	"go.opentelemetry.io/otel/exporters/stdout/": {"internal/outputs"},
	module + "/internal/outputs":                 {""}, // perfline.Start
	module + "/internal/counts":                  {""}, // which knows all parts
}

// standardOnly are the folders whose import costs the standard library only.
var standardOnly = []string{
	"internal/record", "observer", "marks", "bridge/bridgehttp/internal/servertiming",
	"internal/cgroup", "internal/cputime", "internal/document", "internal/environ", "internal/goruntime", "internal/modules", "guard", "internal/queue", "internal/secret", "internal/serve", "internal/text",
}

func TestImportDirection(t *testing.T) {
	atRoot(t)
	// A file for one system only must not hide an import from the others.
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) { testImportDirection(t, goos) })
	}
}

func testImportDirection(t *testing.T, goos string) {
	graph := importsOf(t, ".", goos)
	for _, pkg := range graph.own() {
		from := folder(pkg)
		rule, ok := allowed[from]
		if !ok {
			t.Errorf("package %s: no folder of it is in the table: say what it may import", pkg)
		}
		for _, imported := range graph[pkg].imports {
			for prefix, dirs := range onlyFor {
				isOwn := func(dir string) bool {
					return dir == "" && pkg == module || dir != "" && strings.HasPrefix(pkg+"/", module+"/"+dir+"/")
				}
				if strings.HasPrefix(imported, prefix) && !slices.ContainsFunc(dirs, isOwn) {
					t.Errorf("%s imports %s: only %q may", pkg, imported, dirs)
				}
			}
			if own := module + "/profiling/pyroscope"; imported == own && from == "profiling" {
				t.Errorf("%s imports %s: who profiles on demand needs no server's client", pkg, own)
			}
			if from == "live/internal/view" && strings.HasPrefix(imported, "net/") {
				t.Errorf("%s imports %s: package live alone knows HTTP", pkg, imported)
			}
			if sampler := module + "/profiling"; strings.HasPrefix(imported, sampler+"/internal/") && pkg != sampler && !strings.HasPrefix(pkg, sampler+"/internal/") {
				t.Errorf("%s imports %s: only profiling itself may", pkg, imported)
			}
			if !strings.HasPrefix(imported+"/", module+"/") {
				continue
			}
			if to := folder(imported); to != from && !slices.Contains(rule, to) {
				t.Errorf("%s imports %s: %q may import %q only", pkg, imported, from, rule)
			}
		}
	}
	for _, dir := range standardOnly {
		within := slices.DeleteFunc(graph.own(), func(pkg string) bool { return !strings.HasPrefix(pkg+"/", module+"/"+dir+"/") })
		if len(within) == 0 {
			t.Errorf("folder %s has no package", dir)
		}
		for _, dep := range graph.foreign(t, within...) {
			if !strings.HasPrefix(dep+"/", module+"/") {
				t.Errorf("one of %q reaches %s: they may use the standard library only", within, dep)
			}
		}
	}
}

// Every package may encode spans without a client of OTLP and without the messages of protobuf.
func TestEncoderIsLight(t *testing.T) {
	atRoot(t)
	for _, dep := range importsOf(t, ".", "").foreign(t, module+"/internal/otlpenc") {
		for _, heavy := range []string{"google.golang.org/grpc", "google.golang.org/protobuf/proto", "go.opentelemetry.io/proto/", "go.opentelemetry.io/otel/exporters/"} {
			if strings.HasPrefix(dep, heavy) {
				t.Errorf("internal/otlpenc reaches %s", dep)
			}
		}
	}
}

// Code that makes spans may label goroutines without the formats of profiles and the sampler.
func TestSpanLabelsAreLight(t *testing.T) {
	atRoot(t)
	for _, dep := range importsOf(t, ".", "").foreign(t, module+"/internal/spanlabels") {
		switch {
		case dep == module+"/internal/goruntime", dep == module+"/internal/text", dep == module+"/internal/underway":
		case strings.HasPrefix(dep, module+"/"), strings.HasPrefix(dep, "github.com/google/pprof"):
			t.Errorf("internal/spanlabels reaches %s", dep)
		}
	}
}

// The sampler and what reads its profiles, the readers of execution traces, and what serves them. A
// program gets them only if it imports them.
var heavyParts = []string{
	module + "/profiling", module + "/waits/flight", module + "/live", module + "/internal/viewers",
	"github.com/google/pprof", "golang.org/x/exp/", "go.opentelemetry.io/otel/exporters/",
}

// Code that shows what requests waited for, or that implements a recorder, gets package bridge, and
// no reader of traces, no parser of profiles and no client of OTLP.
func TestWaitsAreLight(t *testing.T) {
	atRoot(t)
	for _, dep := range importsOf(t, ".", "").foreign(t, module+"/waits") {
		heavy := append(slices.Clone(heavyParts), module+"/exporter", module+"/internal/requests", "google.golang.org/grpc")
		if slices.ContainsFunc(heavy, func(prefix string) bool { return strings.HasPrefix(dep, prefix) }) {
			t.Errorf("waits reaches %s", dep)
		}
	}
}

// A program with the SDK's provider and package exporter gets package bridge, and neither the
// profiler nor what is in memory for the page.
func TestExporterIsLight(t *testing.T) {
	atRoot(t)
	for _, dep := range importsOf(t, ".", "").foreign(t, module+"/exporter") {
		heavy := append(slices.Clone(heavyParts), module+"/waits", module+"/internal/requests")
		if slices.ContainsFunc(heavy, func(prefix string) bool { return strings.HasPrefix(dep, prefix) }) {
			t.Errorf("exporter reaches %s", dep)
		}
	}
}

// A program that does not ask what slow requests waited for links no reader of execution traces.
func TestStartLinksNoTraceReader(t *testing.T) {
	atRoot(t)
	for _, dep := range importsOf(t, ".", "").foreign(t, module, module+"/waits", module+"/live", module+"/internal/viewers") {
		if dep == module+"/waits/flight" || strings.HasPrefix(dep, "golang.org/x/exp/") {
			t.Errorf("perfline, the page or the files reach %s", dep)
		}
	}
}

// A program without package bridgelog links no log SDK. A program with OpenTelemetry's log SDK and exporters may use that package
// without linking perfline's exporter and gRPC.
func TestLogSDKIsApart(t *testing.T) {
	atRoot(t)
	const logs = module + "/bridge/bridgelog"
	graph := importsOf(t, ".", "")
	for _, pkg := range graph.own() {
		for _, dep := range graph.foreign(t, pkg) {
			if strings.HasPrefix(dep, "go.opentelemetry.io/otel/sdk/log") && pkg != logs {
				t.Errorf("%s reaches %s: only %s may", pkg, dep, logs)
			}
			if pkg == logs && (dep == module+"/exporter" || strings.HasPrefix(dep, "google.golang.org/grpc")) {
				t.Errorf("%s reaches %s", logs, dep)
			}
		}
	}
}

// No folder may import another in a circle: Go refuses a circle of packages, but not of folders.
func TestImportRulesHaveNoCircle(t *testing.T) {
	var visit func(dir string, above []string)
	visit = func(dir string, above []string) {
		if slices.Contains(above, dir) {
			t.Errorf("the table has a circle: %q", append(above, dir))
			return
		}
		rule, ok := allowed[dir]
		if !ok {
			t.Errorf("%q may import %q, which has no rule", above[len(above)-1], dir)
		}
		for _, to := range rule {
			visit(to, append(slices.Clone(above), dir))
		}
	}
	for dir := range allowed {
		visit(dir, nil)
	}
}

// One package links to the runtime, so that a new release of Go is checked in one place.
func TestOnlyGoruntimeLinksToTheRuntime(t *testing.T) {
	atRoot(t)
	const home = "internal/goruntime/"
	links := 0
	for path, text := range sources(t) {
		if !strings.HasSuffix(path, ".s") && !strings.Contains(text, "\n//go:linkname ") {
			continue
		}
		if links++; !strings.HasPrefix(path, home) {
			t.Errorf("%s has a linkname or assembler: both belong in %s", path, home)
		}
	}
	if links == 0 {
		t.Errorf("no file in %s links to the runtime: the test sees nothing", home)
	}
}

// folder is the longest folder with a rule that has a package of this module, or else the
// package's path. The module's own package is "".
func folder(pkg string) string {
	own := strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
	for dir := own; dir != "."; dir = path.Dir(dir) {
		if _, ok := allowed[dir]; ok {
			return dir
		}
	}
	return own
}

// Dependencies of tests and examples must not reach the users of the module.
func TestModuleStaysLight(t *testing.T) {
	atRoot(t)
	mod := read(t, "go.mod")
	for _, heavy := range []string{"modernc.org/sqlite", "jaegertracing", "grafana/pyroscope ", "VictoriaMetrics", "chromedp", "golangci",
		"grpc-gateway", "genproto/googleapis/api "} { // go mod tidy of users resolves what our tests import, beside the genproto of the users
		if strings.Contains(string(mod), heavy) {
			t.Errorf("go.mod requires %s: that belongs into a nested module", heavy)
		}
	}
}
