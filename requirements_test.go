package perfline_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The requirements of Performance Timeline 2 (PT) and User Timing 3 (UT) are
// numbered; tests carry the numbers of what they cover: in the names of functions
// (TestX_PT3_UT7) and of subtests ("PT-3 …"), or in the label of a single check.
var requirements = map[string]int{"PT": 35, "UT": 27}

// notApplicable are the requirements that no test can cover, and why.
var notApplicable = map[string]string{
	"PT-9":  "priority of the delivery task: the choice of TimelineOptions.Scheduler",
	"PT-13": "ids of entries are optional, and entries here have none",
	"PT-14": "navigationId: there are no documents",
	"PT-34": "structured cloning and realms do not exist in Go",
	"UT-7":  "values are not cloned, so cloning cannot fail",
	"UT-10": "options together with an end mark: impossible by Measure's types",
}

func TestEveryRequirementHasATest(t *testing.T) {
	covered := map[string][]string{}
	for _, dir := range []string{"observer", "marks"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no tests in %s: %v", dir, err)
		}
		for _, file := range files {
			for id, test := range idsOf(t, file) {
				covered[id] = append(covered[id], test)
			}
		}
	}
	tested := 0
	for group, n := range requirements {
		for i := 1; i <= n; i++ {
			id := fmt.Sprintf("%s-%d", group, i)
			why, left := notApplicable[id]
			switch tests := covered[id]; {
			case left && len(tests) > 0:
				t.Errorf("%s is said not to apply (%s), but has a test: %s", id, why, tests)
			case !left && len(tests) == 0:
				t.Errorf("%s: no test carries its number", id)
			case !left:
				tested++
				slices.Sort(tests)
				t.Logf("%-5s %s", id, strings.Join(slices.Compact(tests), ", "))
			}
		}
	}
	for id := range covered {
		group, number, _ := strings.Cut(id, "-")
		if n, err := strconv.Atoi(number); err != nil || n < 1 || n > requirements[group] {
			t.Errorf("%s: there is no such requirement: %s", id, covered[id])
		}
	}
	t.Logf("%d covered by tests, %d do not apply: %v", tested, len(notApplicable), notApplicable)
}

var (
	inFunction = regexp.MustCompile(`_(PT|UT)([0-9]+)`)
	inSubtest  = regexp.MustCompile(`\b(PT|UT)-([0-9]+)`)
)

// idsOf finds the numbers in the names of a file's tests, subtests and checks, and
// one of the test functions that has each.
func idsOf(t *testing.T, file string) map[string]string {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(fn.Name.Name, "Test") {
			continue
		}
		for _, m := range inFunction.FindAllStringSubmatch(fn.Name.Name, -1) {
			ids[m[1]+"-"+m[2]] = fn.Name.Name
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				// Messages may name a requirement, too; they are no names.
				if s, ok := n.Fun.(*ast.SelectorExpr); ok {
					return s.Sel.Name == "Run" || !slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf"}, s.Sel.Name)
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && (strings.HasPrefix(text, "PT-") || strings.HasPrefix(text, "UT-")) {
					for _, m := range inSubtest.FindAllStringSubmatch(text, -1) {
						ids[m[1]+"-"+m[2]] = fn.Name.Name
					}
				}
			}
			return true
		})
	}
	return ids
}
