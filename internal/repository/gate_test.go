package repository_test

import (
	"go/build/constraint"
	"strings"
	"testing"
)

// inGate reports whether the landing gate runs the tests of a file. Files with the build tag lab, and the folder lab, belong to
// the laboratory, which no landing waits for.
func inGate(t *testing.T, path, text string) bool {
	t.Helper()
	if strings.HasPrefix(path, "lab/") {
		return false
	}
	head, _, _ := strings.Cut("\n"+text, "\npackage ")
	for line := range strings.Lines(head) {
		if line = strings.TrimSpace(line); !constraint.IsGoBuild(line) {
			continue
		}
		expr, err := constraint.Parse(line)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return !needsLab(expr)
	}
	return true
}

// needsLab reports whether a build constraint excludes a file unless the tag lab is set.
func needsLab(expr constraint.Expr) bool {
	switch expr := expr.(type) {
	case *constraint.TagExpr:
		return expr.Tag == "lab"
	case *constraint.AndExpr:
		return needsLab(expr.X) || needsLab(expr.Y)
	case *constraint.OrExpr:
		return needsLab(expr.X) && needsLab(expr.Y)
	default: // "!lab" is the gate's; no file needs "!!lab"
		return false
	}
}

func TestInGate(t *testing.T) {
	for _, c := range []struct {
		name, path, text string
		want             bool
	}{
		{"no constraint", "profiling/hub_test.go", "package profiling_test\n", true},
		{"the laboratory's tag", "profiling/hub_lab_test.go", "//go:build lab\n\npackage profiling_test\n", false},
		{"the tag after a comment", "profiling/hub_test.go", "// Shares.\n\n//go:build lab\n\npackage profiling_test\n", false},
		{"the tag and a system", "profiling/hub_test.go", "//go:build linux && lab\n\npackage profiling_test\n", false},
		{"the tag or the tag with a system", "a_test.go", "//go:build lab || (lab && linux)\n\npackage a\n", false},
		{"the tag or a system", "a_test.go", "//go:build lab || linux\n\npackage a\n", true},
		{"not the laboratory", "a_test.go", "//go:build !lab\n\npackage a\n", true},
		{"another tag", "marks/alloc_test.go", "//go:build !race\n\npackage marks_test\n", true},
		{"a name that only begins like the tag", "a_test.go", "//go:build label\n\npackage a\n", true},
		{"the words in the code", "a_test.go", "package a\n\nconst text = `\n//go:build lab\n`\n", true},
		{"a file name without the tag", "a_lab_test.go", "package a\n", true},
		{"the laboratory's module", "lab/slow/slow_test.go", "package slow\n", false},
		{"a folder with such a name", "exporter/lab/a_test.go", "package lab\n", true},
		{"a folder that only begins so", "label/a_test.go", "package label\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := inGate(t, c.path, c.text); got != c.want {
				t.Errorf("the gate runs %s with %q: %v, want %v", c.path, c.text, got, c.want)
			}
		})
	}
}
