package repository_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"\s]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")

	notInAnchor = regexp.MustCompile(`[^\pL\pN_-]`)
)

// Links between documents, and their pictures, lead to files and headings of the repository. A package page shows the README
// without GitHub's anchors for themes: a picture with two looks is an element with two sources.
func TestLinks(t *testing.T) {
	atRoot(t)
	links, headings := 0, map[string]map[string]bool{} // by file
	for _, file := range files(t, ".md") {
		text := fenced.ReplaceAll(read(t, file), nil)
		for _, m := range link.FindAllSubmatch(text, -1) {
			all := string(m[1]) + string(m[2])
			target, anchor, _ := strings.Cut(all, "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			to := file
			if target != "" {
				to = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s: %v", file, all, err)
			} else if anchor != "" {
				if headings[to] == nil {
					headings[to] = anchors(t, to)
				}
				if !headings[to][anchor] {
					t.Errorf("%s links to %s: no such heading", file, all)
				}
			}
		}
	}
	if links == 0 {
		t.Error("no links were found")
	}
}

// anchors are the names that GitHub gives to a document's headings.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, m := range heading.FindAllSubmatch(fenced.ReplaceAll(read(t, file), nil), -1) {
		name := strings.ReplaceAll(strings.ToLower(string(m[1])), " ", "-")
		names[notInAnchor.ReplaceAllString(name, "")] = true
	}
	return names
}
