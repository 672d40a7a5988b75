package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// golang returns the passages of a Go file: its comments, the identifiers that it
// declares and, outside tests, the literals of errors and log lines. Generated code
// has none.
func golang(name string, src []byte) ([]passage, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(f) {
		return nil, nil
	}
	w := walker{line: func(p token.Pos) int { return files.Position(p).Line }, tests: strings.HasSuffix(name, "_test.go")}
	for _, g := range f.Comments {
		w.all = append(w.all, paragraphs(commentLines(g), w.line(g.Pos()), 1)...)
	}
	ast.Inspect(f, w.visit)
	return w.all, nil
}

var (
	exampleOutput = regexp.MustCompile(`^ *(?i:unordered )?(?i:output):`)
	directive     = regexp.MustCompile(`^[a-z]+:[a-z]`) // go:build, nolint:errcheck
)

// commentLines returns the lines of a comment as godoc has them. A directive is an
// empty line, and the output of an example is left out.
func commentLines(g *ast.CommentGroup) []string {
	var all []string
	for _, c := range g.List {
		text, line := strings.CutPrefix(c.Text, "//")
		if !line {
			text = strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
		}
		for l := range strings.SplitSeq(text, "\n") {
			switch {
			case exampleOutput.MatchString(l):
				return all
			case line && directive.MatchString(l):
				l = ""
			}
			all = append(all, strings.TrimPrefix(l, " "))
		}
	}
	return all
}

// A walker gathers the passages of a file's code.
type walker struct {
	line  func(token.Pos) int
	tests bool
	all   []passage
}

func (w *walker) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		w.declared(n.Name)
		if n.Recv != nil && n.Name.Name == "Error" && n.Body != nil {
			w.messages(n.Body)
		}
	case *ast.Field:
		w.declared(n.Names...)
	case *ast.ValueSpec:
		w.declared(n.Names...)
	case *ast.TypeSpec:
		w.declared(n.Name)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			w.defined(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			w.defined(n.Key, n.Value)
		}
	case *ast.CallExpr:
		if speaks(n.Fun) {
			for _, arg := range n.Args {
				w.messages(arg)
			}
		}
	}
	return true
}

func (w *walker) declared(names ...*ast.Ident) {
	for _, name := range names {
		w.all = append(w.all, passage{identifier, w.line(name.Pos()), name.Name})
	}
}

func (w *walker) defined(left ...ast.Expr) {
	for _, e := range left {
		if name, ok := e.(*ast.Ident); ok {
			w.declared(name)
		}
	}
}

// messages adds the literals below n. Calls in it are left to visit.
func (w *walker) messages(n ast.Node) {
	if w.tests {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && speaks(call.Fun) {
			return false
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				w.all = append(w.all, passage{message, w.line(lit.Pos()), plain(text)})
			}
		}
		return true
	})
}

var loud = regexp.MustCompile(`^(?:(?:Debug|Info|Warn|Error)(?:Context)?|Log(?:Attrs)?|Errorf|(?:Fatal|Panic|Print)(?:f|ln)?)$`)

// speaks reports whether a function takes the text of an error or a log line.
func speaks(fun ast.Expr) bool {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name == "panic"
	case *ast.SelectorExpr:
		of, _ := fun.X.(*ast.Ident)
		if of != nil && of.Name == "errors" {
			return fun.Sel.Name == "New"
		}
		return loud.MatchString(fun.Sel.Name) && (of == nil || of.Name != "fmt" || fun.Sel.Name == "Errorf")
	}
	return false
}
