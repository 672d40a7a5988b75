package repository_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// Exported names that a document mentions exist, as in docs/api.txt.
func TestDocumentedNames(t *testing.T) {
	atRoot(t)
	names, packages := map[string]bool{}, map[string]bool{}
	api := regexp.MustCompile(`(?m)^(?:func|type|const|var|field) (?:\(\*?)?([\w/]+)\.(\w+)(?:\) (\w+)|\.(\w+))?`)
	for _, m := range api.FindAllStringSubmatch(string(read(t, "docs/api.txt")), -1) {
		pkg := path.Base(m[1])
		packages[pkg], names[pkg+"."+m[2]] = true, true
		if member := m[3] + m[4]; member != "" {
			names[pkg+"."+m[2]+"."+member] = true
		}
	}
	mentioned := regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	found := 0
	for _, file := range append(files(t, ".md"), "llms.txt") {
		for _, m := range mentioned.FindAllStringSubmatch(string(read(t, file)), -1) {
			name := strings.TrimSuffix(m[1]+"."+m[2]+"."+m[3], ".")
			if !packages[m[1]] {
				continue
			}
			found++
			if !names[name] {
				t.Errorf("%s names %s, which does not exist", file, name)
			}
		}
	}
	if found == 0 {
		t.Error("no document names anything")
	}
}
