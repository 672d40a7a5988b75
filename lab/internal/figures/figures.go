// Package figures passes what a program of the laboratory has measured to the command that makes
// the table of all figures. A figure is a line in a file:
//
//	name<TAB>goal<TAB>value<TAB>met
//
// The last field is "met", "missed", or "–" for a figure without a goal.
package figures

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// The results of a figure.
const (
	Met    = "met"
	Missed = "missed"
	None   = "–"
)

// A Figure is one line of the table.
type Figure struct {
	Name   string
	Goal   string // such as "≤ 0.36"; empty: none
	Value  string // with its unit
	Result string // Met, Missed or None
}

// Add appends a figure to the file at path. A met of nil says that the figure has no goal. An
// empty path does nothing: a program without the command's flag prints its tables only.
func Add(path, name, goal, value string, met *bool) error {
	if path == "" {
		return nil
	}
	f := Figure{Name: name, Goal: goal, Value: value, Result: None}
	if met != nil && *met {
		f.Result = Met
	} else if met != nil {
		f.Result = Missed
	}
	fields := []string{f.Name, f.Goal, f.Value, f.Result}
	for _, field := range fields {
		if strings.ContainsAny(field, "\t\n") {
			return fmt.Errorf("figure %q: a field must not contain a tab or a new line", fields)
		}
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.Join(fields, "\t") + "\n")
	return errors.Join(err, file.Close())
}

// Read returns the figures in the file at path. A file that is not there holds none.
func Read(path string) (all []Figure, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("%s: line %q has %d fields, must have 4", path, line,
				len(fields))
		}
		all = append(all, Figure{fields[0], fields[1], fields[2], fields[3]})
	}
	return all, err
}
