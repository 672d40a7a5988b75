package repository_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/environ"
)

// How code names variables: whole, or with what begins the name elsewhere.
var (
	wholeNames  = regexp.MustCompile(`"((?:OTEL|PYROSCOPE|PERFLINE)_[A-Z][A-Z_]*[A-Z])"`)
	ofSignal    = regexp.MustCompile(`(?:OfSignal\(signal\.Variable|choice\(vars), "([A-Z_]+)"`)
	goXFeatures = regexp.MustCompile(`newFeature\(\s*(?:\[\]string\{([^}]*)\}|("[A-Z_]+"))`)
	quoted      = regexp.MustCompile(`"([A-Z_]+)"`)
)

// readBy finds the variables that the code reads which perfline.Start links: which one by which packages.
func readBy(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for line := range strings.Lines(list(t, "", "{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles \" \"}}", "-deps", ".")) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		pkg, dir, files := fields[0], fields[1], strings.Fields(fields[2])
		isOf := func(prefix string) bool { return strings.HasPrefix(pkg+"/", prefix) }
		if pkg == module+"/internal/environ" || !slices.ContainsFunc([]string{module + "/", "go.opentelemetry.io/", "github.com/grafana/"}, isOf) {
			continue
		}
		add := func(name string) {
			if !slices.Contains(found[name], pkg) {
				found[name] = append(found[name], pkg)
			}
		}
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range wholeNames.FindAllStringSubmatch(string(text), -1) {
				add(m[1])
			}
			for _, m := range goXFeatures.FindAllStringSubmatch(string(text), -1) {
				for _, suffix := range quoted.FindAllStringSubmatch(m[1]+m[2], -1) {
					add("OTEL_GO_X_" + suffix[1])
				}
			}
			for _, m := range ofSignal.FindAllStringSubmatch(string(text), -1) {
				switch pkg {
				case module + "/internal/otlp":
					add("OTEL_EXPORTER_OTLP_" + m[1])
					for _, signal := range []string{"TRACES", "METRICS", "LOGS", "PROFILES"} {
						add("OTEL_EXPORTER_OTLP_" + signal + "_" + m[1])
					}
				case module + "/internal/outputs":
					add("OTEL_EXPORTER_OTLP_METRICS_" + m[1])
				}
			}
		}
	}
	return found
}

// The code reads and internal/environ lists the same variables. TestVariables tries them all.
func TestVariablesAreComplete(t *testing.T) {
	atRoot(t)
	listed := map[string]bool{}
	for _, v := range environ.Variables() {
		for _, name := range v.Names() {
			if listed[name] {
				t.Errorf("%s is listed twice", name)
			}
			listed[name] = true
		}
	}
	read := readBy(t)
	for name, packages := range read {
		if !listed[name] {
			t.Errorf("%s is read by %v and not listed: add it to internal/environ or say here why not", name, packages)
		}
	}
	for name := range listed {
		if _, ok := read[name]; !ok {
			t.Errorf("%s is listed, but nothing reads it", name)
		}
	}
}

func TestVariablesDocumented(t *testing.T) {
	atRoot(t)
	var b strings.Builder
	fmt.Fprintln(&b, "| variable | what it sets | a value | unset |\n|---|---|---|---|")
	for _, v := range environ.Variables() {
		name := "`" + v.Name + "`"
		if v.Signals {
			name += " ¹"
		}
		rule := strings.ReplaceAll(v.Rule(), "|", `\|`)
		if v.Fatal {
			rule += ". **Else Start fails**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, v.Sets, rule, v.Default)
	}
	documented(t, "docs/variables.md", "variables", b.String())
}
