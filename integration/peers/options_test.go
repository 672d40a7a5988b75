package peers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp/filters"

	"github.com/perfline/perfline/bridge/bridgehttp"
)

// The guide names every function of otelhttp and what perfline has for it: a new
// option of a later release fails here.
func TestDocumentedOptions(t *testing.T) {
	guide, err := os.ReadFile("../../docs/otelhttp.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp").Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range functions(t, strings.TrimSpace(string(dir))) {
		n++
		if !strings.Contains(string(guide), "`"+name+"`") {
			t.Errorf("the guide does not name otelhttp's %s", name)
		}
	}
	if n < 10 {
		t.Errorf("otelhttp has %d functions only: they were not found", n)
	}
}

// otelhttp's filters and httptrace work as the guide describes.
func TestDocumentedCompanions(t *testing.T) {
	r := newRig(t, true)
	client := bridgehttp.Client{
		TracerProvider: r.provider,
		Filter:         filters.All(filters.Path("/wanted"), filters.Method("GET")),
	}
	s := httptest.NewServer(http.HandlerFunc(greet))
	defer s.Close()
	connected := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected++ }})
	wrapped := &http.Client{Transport: client.Transport(s.Client().Transport)}
	for _, path := range []string{"/wanted", "/unwanted"} {
		if err := get(ctx, wrapped, s.URL+path); err != nil {
			t.Fatal(err)
		}
	}
	if connected != 2 {
		t.Errorf("the caller's httptrace was called for %d requests, want 2", connected)
	}
	if got := r.ended(t); len(got) != 1 {
		t.Errorf("spans %q, want that of /wanted", names(got))
	}
}

// functions are those that the package in dir exports.
func functions(t *testing.T, dir string) (names []string) {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), dir, func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0) //nolint:staticcheck // no build tags here
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		for _, f := range p.Files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() {
					names = append(names, fn.Name.Name)
				}
			}
		}
	}
	return names
}
