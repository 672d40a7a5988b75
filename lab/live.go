package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/perfline/perfline/lab/internal/figures"
)

// modulesWithLiveTests are folders beside this module's with files that have the build tag lab.
var modulesWithLiveTests = []string{".", "internal/timelinetest", "integration", "lab"}

var (
	passedTest = regexp.MustCompile(`(?m)^--- PASS: TestLab[A-Z]`)
	failedTest = regexp.MustCompile(`(?m)^--- FAIL: (TestLab[A-Z]\w*)`)
)

// liveTests runs the tests that have the build tag lab, a package at a time.
func liveTests(ctx context.Context, s *setting) error {
	var errs []error
	for _, m := range modulesWithLiveTests {
		var log bytes.Buffer
		err := s.goCommand(ctx, io.MultiWriter(s.out, &log), filepath.Join("..", m),
			"test", "-tags", "lab", "-vet=off", "-count=1", "-p", "1", "-timeout", "30m", "-v",
			"-run", "^TestLab[A-Z]", "./...")
		passed := len(passedTest.FindAll(log.Bytes(), -1))
		var failed []string
		for _, match := range failedTest.FindAllStringSubmatch(log.String(), -1) {
			failed = append(failed, match[1])
		}
		value := fmt.Sprintf("%d of %d", passed, passed+len(failed))
		if failed != nil {
			value += ", failed: " + strings.Join(failed, ", ")
		}
		met := err == nil && passed > 0
		errs = append(errs, figures.Add(s.figures, "live tests that pass, module "+m, "all", value,
			&met))
	}
	return errors.Join(errs...)
}

// vulnerabilities looks for known vulnerabilities in each module that holds code of ours. Without
// the database nobody has looked: the figure has no result then.
func vulnerabilities(ctx context.Context, s *setting) error {
	found, err := exec.CommandContext(ctx, "git", "-C", "..", "ls-files", "*go.mod").Output()
	if err != nil {
		return fmt.Errorf("listing the modules: %w", err)
	}
	var reached []string
	const figure, goal = "known vulnerabilities that the code reaches, in modules", "none"
	for file := range strings.Lines(string(found)) {
		m := filepath.Dir(strings.TrimSpace(file))
		pin, err := filepath.Abs("../tools/lint.mod")
		if err != nil {
			return err
		}
		var log bytes.Buffer
		err = s.goCommand(ctx, io.MultiWriter(s.out, &log), filepath.Join("..", m), "tool",
			"-modfile="+pin, "govulncheck", "-test", "./...")
		switch {
		case err == nil:
		case strings.Contains(log.String(), "fetching vulnerabilities: "):
			return figures.Add(s.figures, figure, goal,
				"not looked for: the database cannot be reached", nil)
		case strings.Contains(log.String(), "Vulnerability #"):
			reached = append(reached, m)
		default:
			return fmt.Errorf("govulncheck in module %s: %w", m, err)
		}
	}
	met, value := reached == nil, "none"
	if !met {
		value = strings.Join(reached, ", ")
	}
	return figures.Add(s.figures, figure, goal, value, &met)
}

// pictures makes the pictures in a folder that is deleted again. Somebody who looks at them makes
// those of the documents.
func pictures(ctx context.Context, s *setting) error {
	folder, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return err
	}
	return errors.Join(s.goCommand(ctx, s.out, ".", "run", "./pictures", "-dir", folder),
		os.RemoveAll(folder))
}
