package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// complaint is an error of the compiler in a test file.
var complaint = regexp.MustCompile(`(?m)^(?:\./)?([\w.-]+_test\.go):(\d+):\d+: (.*)$`)

// prune takes out of the test files of a package what does not compile: declarations that use
// private names of the implementation, and then what used those. It returns the names of the tests
// among them.
func (w *workspace) prune(ctx context.Context, folder string) (left []string, err error) {
	for {
		_, err := w.goCommand(ctx, folder, "test", "-c", "-vet=off", "-gcflags=-e", "-o",
			os.DevNull, ".")
		if err == nil {
			slices.Sort(left)
			return left, nil
		}
		lines := map[string][]int{}
		for _, m := range complaint.FindAllStringSubmatch(err.Error(), -1) {
			n, _ := strconv.Atoi(m[2])
			lines[m[1]] = append(lines[m[1]], n)
		}
		if len(lines) == 0 {
			return nil, err
		}
		for name, at := range lines {
			removed, err := removeDeclarations(filepath.Join(folder, name), at)
			if err != nil {
				return nil, err
			}
			left = append(left, removed...)
		}
	}
}

// removeDeclarations takes the declarations at these lines out of a file, and returns the names of
// the tests among them.
func removeDeclarations(path string, lines []int) (tests []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	has := func(n ast.Node) bool {
		from, to := files.Position(n.Pos()).Line, files.Position(n.End()).Line
		return slices.ContainsFunc(lines, func(line int) bool { return from <= line && line <= to })
	}
	var out []ast.Node
	for _, d := range file.Decls {
		if !has(d) {
			continue
		}
		general, ok := d.(*ast.GenDecl)
		if !ok || !general.Lparen.IsValid() {
			out = append(out, d)
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				tests = append(tests, f.Name.Name)
			}
			continue
		}
		for _, spec := range general.Specs {
			if has(spec) {
				out = append(out, spec)
			}
		}
	}
	if out == nil {
		return nil, fmt.Errorf("%s: no declaration at lines %v", path, lines)
	}
	slices.Reverse(out)
	for _, n := range out {
		text = slices.Delete(text, files.Position(n.Pos()).Offset, files.Position(n.End()).Offset)
	}
	return tests, os.WriteFile(path, text, 0o644)
}
