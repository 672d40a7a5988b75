package main

import (
	"fmt"
	"os"
	"strings"
)

// readDecisions reads the lines "SUITE TEST: REASON", by suite and test. A reason begins with
// "decision: " or with "does not apply: ".
func readDecisions(path string) (map[string]map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		suite, rest, _ := strings.Cut(line, " ")
		test, reason, _ := strings.Cut(rest, ": ")
		if !strings.HasPrefix(reason, "decision: ") &&
			!strings.HasPrefix(reason, "does not apply: ") {
			return nil, fmt.Errorf(
				"%s: line %q must be SUITE TEST: decision: REASON, or SUITE TEST: does not apply: REASON", path, line)
		}
		if all[suite] == nil {
			all[suite] = map[string]string{}
		}
		if all[suite][test] != "" {
			return nil, fmt.Errorf("%s: two lines for %s %s", path, suite, test)
		}
		all[suite][test] = reason
	}
	return all, nil
}
