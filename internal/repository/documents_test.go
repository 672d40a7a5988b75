package repository_test

import (
	"flag"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is made from the code into its documents")

// The README shows a whole program, which is in examples.
func TestDocumentedProgram(t *testing.T) {
	atRoot(t)
	_, program, ok := strings.Cut(string(read(t, "examples/hello/main.go")), "\npackage main\n")
	if !ok {
		t.Fatal("examples/hello/main.go is not a program")
	}
	documented(t, "README.md", "program", "\n```go\npackage main\n"+program+"```\n")
}

// Guides show the code of recipes: each file of an example that has a test with the real library.
func TestDocumentedRecipes(t *testing.T) {
	atRoot(t)
	guides := map[string]string{
		"chi.go": "frameworks", "echo.go": "frameworks", "gin.go": "frameworks", "gorilla.go": "frameworks", "httprouter.go": "frameworks",
		"connect.go": "rpc", "gateway.go": "rpc",
		"jobs.go": "jobs", "kafka.go": "kafka", "messages.go": "messages", "streams.go": "streams",
		"databases.go": "databases", "gorm.go": "databases", "redis.go": "redis",
		"loggers.go": "logs", "log_records.go": "logs",
		"propagators.go": "variables",
	}
	for _, file := range files(t, ".go") {
		folder, name := path.Split(file)
		if folder != "examples/frameworks/" && folder != "examples/recipes/" || name == "doc.go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		guide, ok := guides[name]
		if !ok {
			t.Errorf("no guide shows %s", file)
			continue
		}
		delete(guides, name)
		documented(t, "docs/"+guide+".md", name, "\n```go\n"+recipe(t, file)+"```\n")
	}
	if len(guides) > 0 {
		t.Errorf("these files are not there: %v", guides)
	}
}

// An import path in a guide is one of a tested example, with its version. Those of recipes are made from the code, others are written.
func TestGuidesImportWhatIsTested(t *testing.T) {
	atRoot(t)
	tested := map[string]bool{}
	for _, file := range files(t, ".go") {
		if !strings.HasPrefix(file, "examples/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			tested[i.Path.Value] = true
		}
	}
	imports := regexp.MustCompile(`(?m)^import (?:\w+ )?("[^"]+")`)
	found := 0
	for _, file := range files(t, ".md") {
		for _, m := range imports.FindAllStringSubmatch(string(read(t, file)), -1) {
			found++
			if !tested[m[1]] {
				t.Errorf("%s imports %s, which no file of examples imports", file, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no guide has an import")
	}
}

// recipe returns the code of a file, with the imports that are not of the standard library.
func recipe(t *testing.T, file string) string {
	t.Helper()
	source := string(read(t, file))
	f, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, i := range f.Imports {
		if from, _, _ := strings.Cut(i.Path.Value, "/"); strings.Contains(from, ".") {
			code.WriteString("import " + source[i.Pos()-1:i.End()-1] + "\n")
		}
	}
	_, rest, ok := strings.Cut(source, "\n)\n\n") // the imports end
	if !ok || code.Len() == 0 {
		t.Fatalf("%s has no imports", file)
	}
	return code.String() + "\n" + rest
}

// documented fails t if a document does not have what is made from the code, or writes it there with
// -update. The part of a document is between <!-- part --> and <!-- /part -->; "" is all of it.
func documented(t *testing.T, document, part, want string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil && (part != "" || !*update) {
		t.Fatal(err)
	}
	before, got, after, begin := "", string(text), "", ""
	if part != "" {
		begin = "<!-- " + part + " -->\n"
		end := "<!-- /" + part + " -->"
		var begins, ends bool
		before, got, begins = strings.Cut(string(text), begin)
		got, after, ends = strings.Cut(got, end)
		if !begins || !ends {
			t.Fatalf("%s lacks %q or %q", document, begin, end)
		}
		before, after = before+begin, end+after
	}
	if *update {
		if err := os.WriteFile(document, []byte(before+want+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if g, w := line(gotLines, i), line(wantLines, i); g != w {
			t.Fatalf("%s is not what the code gives: line %d after %q is\n%s\nand by the code\n%s\n(go test -run Documented ./internal/repository -update writes it; look at the diff)",
				document, i+1, begin, g, w)
		}
	}
}

func line(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "not there"
}
