package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// A ratchet holds the count of findings of each directory against the stored one,
// which may only fall. A directory that is not stored has the count 0.
type ratchet struct {
	path  string             // of the stored counts
	isNew func(finding) bool // since the counts were stored
}

type counts map[string]int

func count(all []finding) counts {
	c := counts{}
	for _, f := range all {
		c[path.Dir(f.file)]++
	}
	return c
}

// check writes what differs from the stored counts to out, and returns an error if
// something does.
func (r ratchet) check(out io.Writer, all []finding) error {
	stored, err := r.read()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: store today's counts with -update", err)
	}
	if err != nil {
		return err
	}
	now := count(all)
	if err := r.risen(out, stored, now, all); err != nil {
		return err
	}
	fallen := false
	for _, dir := range slices.Sorted(maps.Keys(stored)) {
		if now[dir] < stored[dir] {
			fallen = true
			fmt.Fprintf(out, "%s: findings %d, stored %d\n", dir, now[dir], stored[dir])
		}
	}
	if fallen {
		return errors.New("counts have fallen: store them with go run -C tools/language . -update")
	}
	return nil
}

// update stores the counts unless one has risen. Without stored counts it stores
// today's.
func (r ratchet) update(out io.Writer, all []finding) error {
	now := count(all)
	switch stored, err := r.read(); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := r.risen(out, stored, now, all); err != nil {
			return err
		}
	}
	var text strings.Builder
	text.WriteString("# Findings of tools/language in each directory. A count may fall and must not rise.\n")
	for _, dir := range slices.Sorted(maps.Keys(now)) {
		fmt.Fprintf(&text, "%s %d\n", dir, now[dir])
	}
	return os.WriteFile(r.path, []byte(text.String()), 0o644)
}

// risen returns an error if a count is higher than the stored one. It writes the
// directory's new findings to out, and all of them if no line of a finding is new.
func (r ratchet) risen(out io.Writer, stored, now counts, all []finding) error {
	higher := false
	for _, dir := range slices.Sorted(maps.Keys(now)) {
		if now[dir] <= stored[dir] {
			continue
		}
		higher = true
		fmt.Fprintf(out, "%s: findings %d, stored %d:\n", dir, now[dir], stored[dir])
		inDir := slices.DeleteFunc(slices.Clone(all), func(f finding) bool { return path.Dir(f.file) != dir })
		if added := slices.DeleteFunc(slices.Clone(inDir), func(f finding) bool { return !r.isNew(f) }); len(added) > 0 {
			inDir = added
		}
		for _, f := range inDir {
			fmt.Fprintf(out, "\t%s\n", f)
		}
	}
	if higher {
		return errors.New("counts have risen: rewrite these texts; counts must not rise")
	}
	return nil
}

func (r ratchet) read() (counts, error) {
	text, err := os.ReadFile(r.path)
	if err != nil {
		return nil, err
	}
	stored := counts{}
	for l := range strings.Lines(string(text)) {
		var dir string
		var n int
		if strings.HasPrefix(l, "#") {
			continue
		}
		if _, err := fmt.Sscanf(l, "%s %d", &dir, &n); err != nil || n < 0 {
			return nil, fmt.Errorf("%s: line %q: must be a directory and a count", r.path, strings.TrimSpace(l))
		}
		stored[dir] = n
	}
	return stored, nil
}
