package bridge_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A providerDifference is something that the two providers do differently. docs/lab/tracerprovider.md lists all of them.
type providerDifference struct {
	what          string
	sdk, perfline string // what observe returns
	why           string
	observe       func(*testing.T, newProvider) string
}

var providerDifferences = slices.Concat(lifecycleDifferences, spanDifferences, marksDifferences, settingDifferences)

var update = flag.Bool("update", false, "write the differences into docs/lab/tracerprovider.md")

// Both providers do what the list says, and each row says something different of them.
func TestProviderDifferences(t *testing.T) {
	for _, d := range providerDifferences {
		t.Run(d.what, func(t *testing.T) {
			if d.sdk == d.perfline {
				t.Errorf("both are %q: this is no difference", d.sdk)
			}
			if got := d.observe(t, newSDK); got != d.sdk {
				t.Errorf("SDK: %s, listed: %s", got, d.sdk)
			}
			if got := d.observe(t, newPerfline); got != d.perfline {
				t.Errorf("perfline: %s, listed: %s", got, d.perfline)
			}
		})
	}
}

// The document has the table of the differences.
func TestProviderDocumentedDifferences(t *testing.T) {
	var b strings.Builder
	b.WriteString("| what | SDK | perfline | why |\n|---|---|---|---|\n")
	for _, d := range providerDifferences {
		b.WriteString("| " + strings.Join([]string{d.what, d.sdk, d.perfline, d.why}, " | ") + " |\n")
	}
	documented(t, "differences", b.String())
}

// documented fails t unless the part of the document between the two markers is want. With -update it writes the part.
func documented(t *testing.T, part, want string) {
	t.Helper()
	const document = "../docs/lab/tracerprovider.md"
	begin, end := "<!-- "+part+" -->\n", "<!-- /"+part+" -->"
	all, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(all), begin)
	got, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s lacks %q or %q", document, begin, end)
	}
	if *update {
		if err := os.WriteFile(document, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s has %s of\n%s\nby the tests it is\n%s\n(go test ./bridge -run Documented -update writes it)", document, part, got, want)
	}
}

// The document names each option of the SDK's provider.
func TestProviderDocumentedOptions(t *testing.T) {
	text, err := os.ReadFile("../docs/tracerprovider.md")
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.opentelemetry.io/otel/sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(sdk)), "trace", "provider.go"))
	if err != nil {
		t.Fatal(err)
	}
	options := regexp.MustCompile(`(?m)^func (With\w+)\(.*\) TracerProviderOption \{`).FindAllSubmatch(source, -1)
	if len(options) < 8 {
		t.Fatalf("found %d options in the SDK", len(options))
	}
	for _, m := range options {
		if !strings.Contains(string(text), "`"+string(m[1])+"`") {
			t.Errorf("docs/tracerprovider.md lacks the SDK's option %s", m[1])
		}
	}
}
