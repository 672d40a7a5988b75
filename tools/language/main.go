// Command language counts the words and patterns that make perfline's English hard
// to read, in comments, documents, errors, log lines and identifiers. It fails when
// a directory has more of them than counts.txt allows. This is a module of its own,
// so users of perfline do not download it.
//
//	go run -C tools/language .                   # compare with counts.txt, as CI does
//	go run -C tools/language . bridge observer   # list the findings of these directories
//	go run -C tools/language . -update           # store counts that have fallen; without counts.txt, today's
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const countsFile = "tools/language/counts.txt"

func main() {
	update := flag.Bool("update", false, "store counts that have fallen")
	flag.Parse()
	if err := run(os.Stdout, *update, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "language:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, update bool, list []string) error {
	root, err := git(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	root = strings.TrimSpace(root)
	tracked, err := git(root, "ls-files", "*.go", "*.md")
	if err != nil {
		return err
	}
	all, err := scan(root, strings.Fields(tracked))
	if err != nil {
		return err
	}
	if len(list) > 0 {
		for _, f := range all {
			if slices.Contains(list, path.Dir(f.file)) {
				fmt.Fprintln(out, f)
			}
		}
		return nil
	}
	r := ratchet{path: filepath.Join(root, countsFile), isNew: changedLines(root)}
	if update {
		return r.update(out, all)
	}
	return r.check(out, all)
}

// scan returns the findings of the files, which are named from root.
func scan(root string, files []string) ([]finding, error) {
	var all []finding
	for _, file := range files {
		if strings.Contains("/"+file, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) { // it is deleted, but not in git's index yet
			continue
		}
		if err != nil {
			return nil, err
		}
		passages := markdown(string(text))
		if path.Ext(file) == ".go" {
			if passages, err = golang(file, text); err != nil {
				return nil, err
			}
		}
		from := len(all)
		for _, p := range passages {
			all = append(all, p.findings(file)...)
		}
		slices.SortStableFunc(all[from:], func(a, b finding) int { return cmp.Compare(a.line, b.line) })
	}
	return all, nil
}

func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...) //nolint:noctx // the program ends when git does
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(text), nil
}

// changedLines returns a function that reports whether a finding has a line that was
// written since the counts were stored. Every finding has if git does not know when
// that was.
func changedLines(root string) func(finding) bool {
	everything := func(finding) bool { return true }
	commit, err := git(root, "log", "-1", "--format=%H", "--", countsFile)
	if err != nil || commit == "" {
		return everything
	}
	diff, err := git(root, "diff", "--no-color", "--no-ext-diff", "--no-prefix", "-U0", strings.TrimSpace(commit), "--", "*.go", "*.md")
	if err != nil {
		return everything
	}
	type hunk struct{ first, last int }
	changed := map[string][]hunk{}
	file := ""
	for l := range strings.Lines(diff) {
		if name, ok := strings.CutPrefix(l, "+++ "); ok {
			file = strings.TrimSpace(name)
		}
		if !strings.HasPrefix(l, "@@ ") {
			continue
		}
		_, added, _ := strings.Cut(l, " +")
		first, n := 0, 1
		if _, err := fmt.Sscanf(added, "%d,%d", &first, &n); err != nil {
			n = 1 // "@@ -3 +4 @@" is one line
		}
		changed[file] = append(changed[file], hunk{first, first + n - 1})
	}
	return func(f finding) bool {
		return slices.ContainsFunc(changed[f.file], func(h hunk) bool { return h.first <= f.last && f.line <= h.last })
	}
}
