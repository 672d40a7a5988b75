package frameworks_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/document"
)

var update = flag.Bool("update", false, "write the pieces into docs/frameworks.md")

// docs/frameworks.md shows the pieces as they are.
func TestDocumented(t *testing.T) {
	const path = "../../docs/frameworks.md"
	var parts []document.Part
	for _, name := range []string{"chi.go", "gin.go", "echo4.go", "echo5.go", "gorilla.go", "httprouter.go"} {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, piece, ok := strings.Cut(string(source), "\n)\n\n") // the imports end
		if !ok {
			t.Fatalf("%s has no imports", name)
		}
		parts = append(parts, document.Part{Name: name, Text: "```go\n" + piece + "```"})
	}
	if *update {
		if err := document.Write(path, parts...); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if !strings.Contains(string(text), "<!-- "+p.Name+" -->\n\n"+p.Text+"\n<!-- /"+p.Name+" -->\n") {
			t.Errorf("%s does not show %s as it is: go test -C examples/frameworks -run Documented -update . writes it", path, p.Name)
		}
	}
}
