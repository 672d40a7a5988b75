package repository_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A test of the gate passes on any machine, also beside busy neighbours. These habits make one that does not.
const (
	heapSize   = "reads the size of the heap, which has the memory of other goroutines, too: count live objects with weak.Pointer, or move to the laboratory"
	spin       = "spins on runtime.Gosched: wait for a channel, a hook or synctest.Wait"
	share      = "measures its share of the processors: play a fake engine, or move to the laboratory"
	labName    = "has the build tag lab without _lab_test.go in its name, or the name without the tag"
	labTest    = "has a test of the laboratory whose name does not begin with TestLab and a capital: .ci/run lab leaves it out"
	labOutside = "has a test whose name begins with TestLab and a capital, without the build tag lab"
)

// labTests are the names of the laboratory's tests. TestLabels is none.
var labTests = regexp.MustCompile(`^TestLab(\P{Ll}|$)`)

func TestGateIsDeterministic(t *testing.T) {
	atRoot(t)
	tests := 0
	for file, text := range sources(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		tests++
		for _, habit := range habits(t, file, text) {
			t.Errorf("%s %s", file, habit)
		}
	}
	if tests == 0 {
		t.Error("there are no tests")
	}
}

// habits returns what a file of tests does that a test of the gate must not do.
func habits(t *testing.T, file, text string) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	gate := inGate(t, file, text)
	if gate == strings.HasSuffix(file, "_lab_test.go") {
		all = append(all, labName)
	}
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !isTest(fn.Name.Name) {
			continue
		}
		switch ofLab := labTests.MatchString(fn.Name.Name); {
		case gate && ofLab:
			all = append(all, labOutside)
		case !gate && !ofLab:
			all = append(all, labTest)
		}
	}
	if !gate {
		return all
	}
	if slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return path.Base(strings.Trim(i.Path.Value, `"`)) == "cpushare" }) &&
		!strings.HasPrefix(file, "internal/cpushare/") {
		all = append(all, share)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if slices.Contains([]string{"HeapAlloc", "HeapInuse", "HeapObjects"}, n.Sel.Name) {
				all = append(all, heapSize)
			}
		case *ast.ForStmt:
			// A loop that also does something may give others their turn.
			if len(n.Body.List) == 1 && isGosched(n.Body.List[0]) || isGosched(n.Post) {
				all = append(all, spin)
			}
		}
		return true
	})
	return all
}

// isTest reports whether go test runs a function with a name, as a test.
func isTest(name string) bool {
	rest, ok := strings.CutPrefix(name, "Test")
	return ok && name != "TestMain" && (rest == "" || rest[0] < 'a' || rest[0] > 'z')
}

func isGosched(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	return ok && f.Sel.Name == "Gosched"
}

func TestHabits(t *testing.T) {
	in := func(body string) string { return "package a\n\nfunc TestA(t *testing.T) {\n" + body + "\n}\n" }
	const lab = "//go:build lab\n\n"
	for _, c := range []struct {
		name, file, text, want string
	}{
		{"nothing", "a_test.go", in("f()"), ""},
		{"the heap", "a_test.go", in("var m runtime.MemStats; runtime.ReadMemStats(&m); use(m.HeapAlloc)"), heapSize},
		{"allocations", "a_test.go", in("var m runtime.MemStats; runtime.ReadMemStats(&m); use(m.Mallocs)"), ""},
		{"a spin", "a_test.go", in("for !done() { runtime.Gosched() }"), spin},
		{"a spin in the loop's head", "a_test.go", in("for ; !done(); runtime.Gosched() { }"), spin},
		{"a load that gives others their turn", "a_test.go", in("for !done() { f(); runtime.Gosched() }"), ""},
		{"one turn", "a_test.go", in("runtime.Gosched()"), ""},
		{"a share", "a_test.go", "package a\n\nimport \"x/internal/cpushare\"\n", share},
		{"the helper's own test", "internal/cpushare/a_test.go", "package a\n\nimport \"x/internal/cpushare\"\n", ""},
		{"the laboratory", "a_lab_test.go", lab + strings.ReplaceAll(in("use(m.HeapAlloc)"), "TestA", "TestLabA"), ""},
		{"the tag in another file", "a_test.go", lab + "package a\n", labName},
		{"the name without the tag", "a_lab_test.go", "package a\n", labName},
		{"another test in the laboratory", "a_lab_test.go", lab + in(""), labTest},
		{"TestMain in the laboratory", "a_lab_test.go", lab + "package a\n\nfunc TestMain(m *testing.M) {}\n", ""},
		{"a test of labels", "a_test.go", strings.ReplaceAll(in(""), "TestA", "TestLabels"), ""},
		{"a test of labels in the laboratory", "a_lab_test.go", lab + strings.ReplaceAll(in(""), "TestA", "TestLabels"), labTest},
		{"a test of the laboratory in the gate", "a_test.go", strings.ReplaceAll(in(""), "TestA", "TestLabA"), labOutside},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(slices.Compact(habits(t, c.file, c.text)), ", "); got != c.want {
				t.Errorf("%s %s; want %q", c.file, got, c.want)
			}
		})
	}
}
