package repository_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxServiceNames is how many names of perfline a service with HTTP, gRPC, SQL, logs, profiles, the
// page and waits may have to know. Fields of configurations do not count.
const maxServiceNames = 45

// shopExtras are names that the service of examples/shop uses to show more than a service needs.
var shopExtras = map[string]string{
	"bridgehttp.ServerTiming":    "timings in the response, for the shop's own load",
	"guard.Guard":                "guards a handler of the program",
	"guard.Guard.Handler":        "guards a handler of the program",
	"guard.Summary":              "a second page, without requests",
	"marks.Measure":              "User Timing's form of a measure",
	"marks.MeasureOptions":       "User Timing's form of a measure",
	"marks.Named":                "User Timing's form of a measure",
	"marks.Timerify":             "times a function",
	"marks.TimerifyOptions":      "times a function",
	"observer.ProcessTimeline":   "the shop prints entries at its end",
	"observer.Timeline.Deliver":  "the shop prints entries at its end",
	"perfline.Pipeline.Flush":    "the shop asks Jaeger for its spans before its end",
	"perfline.Pipeline.Sessions": "sessions for other programs",
	"profiling.ModuleAny":        "sessions show dependencies, too",
	"profiling.ServeProfile":     "in place of net/http/pprof's handler",
	"service.Config":             "sessions for other programs",
	"service.NewHandler":         "sessions for other programs",
	"waits.Recorder":             "the parameter of a function",
}

func TestServiceNames(t *testing.T) {
	atRoot(t)
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(
		string(read(t, "docs/names.md")), -1) {
		listed[m[1]] = true
	}
	if len(listed) == 0 || len(listed) > maxServiceNames {
		t.Errorf("docs/names.md lists %d names, want 1 to %d", len(listed), maxServiceNames)
	}
	api := string(read(t, "docs/api.txt"))
	for name := range listed {
		pkg, inside, _ := strings.Cut(name, ".")
		owner, method, _ := strings.Cut(inside, ".")
		want := `(?m)^(func|type|const|var) ([a-z/]+/)?` + pkg + `\.` + owner + `\b`
		if method != "" {
			want = `(?m)^func \(\*?([a-z/]+/)?` + pkg + `\.` + owner + `\) ` + method + `\(`
		}
		if !regexp.MustCompile(want).MatchString(api) {
			t.Errorf("docs/names.md lists %s, which docs/api.txt does not have", name)
		}
	}
	used := shopNames(t)
	if len(used) < 20 {
		t.Errorf("the shop's service uses %q only", used)
	}
	for _, name := range used {
		if !listed[name] && shopExtras[name] == "" {
			t.Errorf("the service of examples/shop uses %s: list it in docs/names.md, or say in shopExtras what it shows", name)
		}
	}
	for name := range shopExtras {
		if !slices.Contains(used, name) {
			t.Errorf("shopExtras has %s, which the shop's service does not use", name)
		}
	}
}

// shopNames returns the names of perfline that the service of examples/shop uses, without the parts
// that make load and print reports.
func shopNames(t *testing.T) (used []string) {
	t.Helper()
	exports := map[string]string{}
	for line := range strings.Lines(listIn(t, "examples", "", `{{.ImportPath}}|{{.Export}}`, "-export", "-deps", "./shop")) {
		path, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		exports[path] = file
	}
	paths, err := filepath.Glob("examples/shop/*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	if _, err := (&types.Config{Importer: imports}).Check("shop", fset, files, info); err != nil {
		t.Fatal(err)
	}
	service := []string{"telemetry.go", "servers.go", "handler.go", "payment.go", "search.go", "shipping.go", "store.go"}
	for id, o := range info.Uses {
		if o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path()+"/", module+"/") || !o.Exported() ||
			!slices.Contains(service, filepath.Base(fset.Position(id.Pos()).Filename)) {
			continue
		}
		name := o.Pkg().Name() + "." + o.Name()
		switch o := o.(type) {
		case *types.Var:
			if o.IsField() {
				continue
			}
		case *types.Func:
			if recv := o.Signature().Recv(); recv != nil {
				typ := types.TypeString(recv.Type(), func(p *types.Package) string { return p.Name() })
				name = strings.TrimPrefix(typ, "*") + "." + o.Name()
			}
		}
		used = append(used, name)
	}
	slices.Sort(used)
	return slices.Compact(used)
}
