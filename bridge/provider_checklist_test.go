package bridge_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// modules are those whose tests the checklist has, and the folders in them.
var modules = map[string]struct {
	path    string
	folders []string
}{
	"sdk":       {"go.opentelemetry.io/otel/sdk", []string{"trace", "internal/attrnorm"}},
	"otlptrace": {"go.opentelemetry.io/otel/exporters/otlp/otlptrace", []string{"."}},
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w*)\(`)

// A checked file is one of the SDK's test files in the checklist.
type checkedFile struct {
	name    string            // "sdk trace/span_test.go"
	tests   []string          // in order
	entries map[string]string // by test: "covered: TestX"
}

// Each test function of the SDK is in the checklist, with the tests, the reason or the difference that answers it.
func TestProviderChecklist(t *testing.T) {
	want := map[string][]string{}
	for module, m := range modules {
		dir := moduleDir(t, m.path)
		for _, folder := range m.folders {
			for file, names := range testsIn(t, dir, folder) {
				want[module+" "+file] = names
			}
		}
	}
	ours := map[string][]string{}
	for _, f := range readChecklist(t) {
		got := slices.Sorted(slices.Values(f.tests))
		slices.Sort(want[f.name])
		if !slices.Equal(got, want[f.name]) {
			t.Errorf("%s: the checklist has %q, the SDK %q", f.name, got, want[f.name])
		}
		delete(want, f.name)
		for _, test := range f.tests {
			checkEntry(t, ours, f.name+": "+test, f.entries[test])
		}
	}
	for file, names := range want {
		t.Errorf("the checklist lacks %s, which has %q", file, names)
	}
}

// checkEntry checks the answer to one of the SDK's tests. ours has the tests of this module's packages that were read before.
func checkEntry(t *testing.T, ours map[string][]string, test, entry string) {
	t.Helper()
	kind, rest, _ := strings.Cut(entry, ": ")
	switch {
	case rest == "":
		t.Errorf("%s has no answer: %q", test, entry)
	case kind == "covered":
		for name := range strings.SplitSeq(rest, ", ") {
			folder, function, ok := strings.Cut(name, ".")
			if !ok {
				folder, function = "bridge", name
			}
			if ours[folder] == nil {
				ours[folder] = testsOf(t, folder)
			}
			if !slices.Contains(ours[folder], function) {
				t.Errorf("%s is covered by %s, which is not there", test, name)
			}
		}
	case kind == "differs":
		if !slices.ContainsFunc(providerDifferences, func(d providerDifference) bool { return d.what == rest }) {
			t.Errorf("%s is answered by the difference %q, which is not listed", test, rest)
		}
	case kind != "other":
		t.Errorf("%s has the answer %q", test, entry)
	}
}

// The document has the numbers of the checklist.
func TestProviderDocumentedChecklist(t *testing.T) {
	var b strings.Builder
	b.WriteString("| file | tests | covered | does not apply | differs |\n|---|---|---|---|---|\n")
	sum := map[string]int{}
	for _, f := range readChecklist(t) {
		n := map[string]int{"all": len(f.tests)}
		for _, entry := range f.entries {
			kind, _, _ := strings.Cut(entry, ":")
			n[kind]++
		}
		for kind := range n {
			sum[kind] += n[kind]
		}
		module, file, _ := strings.Cut(f.name, " ")
		fmt.Fprintf(&b, "| %s/%s | %d | %d | %d | %d |\n", module, file, n["all"], n["covered"], n["other"], n["differs"])
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d | %d |\n", sum["all"], sum["covered"], sum["other"], sum["differs"])
	documented(t, "checklist", b.String())
}

// The document names each option of the SDK's provider.
func TestProviderDocumentedOptions(t *testing.T) {
	text, err := os.ReadFile("../docs/tracerprovider.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(moduleDir(t, modules["sdk"].path), "trace", "provider.go"))
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

// readChecklist returns the files of the checklist.
func readChecklist(t *testing.T) (files []checkedFile) {
	t.Helper()
	text, err := os.ReadFile("testdata/sdk_tests.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		name, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case modules[name].path != "":
			files = append(files, checkedFile{name: line, entries: map[string]string{}})
		case len(files) == 0 || files[len(files)-1].entries[name] != "":
			t.Fatalf("checklist: %q is under no file, or twice", line)
		default:
			f := &files[len(files)-1]
			f.tests = append(f.tests, name)
			f.entries[name] = rest
		}
	}
	return files
}

// moduleDir returns the folder of a module.
func moduleDir(t *testing.T, path string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// testsIn returns the test functions below a folder by file, without files that have none.
func testsIn(t *testing.T, dir, folder string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(filepath.Join(dir, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(dir, path)
		for _, m := range testFunction.FindAllSubmatch(source, -1) {
			if name := string(m[1]); name != "TestMain" {
				found[filepath.ToSlash(file)] = append(found[filepath.ToSlash(file)], name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// testsOf returns the test functions of one of this module's packages.
func testsOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	for file, tests := range testsIn(t, "..", folder) {
		if filepath.ToSlash(filepath.Dir(file)) == folder {
			names = append(names, tests...)
		}
	}
	return names
}
