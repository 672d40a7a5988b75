// Package environ reads the environment variables of perfline. [Variables] lists all variables. The
// variables follow the same rules:
//
//   - An empty variable means unset.
//   - A wrong variable causes one log line, with the rule and the value in its place.
//   - A wrong variable is an error if nothing can work without the variable.
//
// Log lines omit the values of variables that often hold secrets.
package environ

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/internal/text"
)

// maxShown bounds a printed value, in bytes.
const maxShown = 100

// Raw returns the value of a variable unchanged.
func Raw(name string) string { return os.Getenv(name) }

// Get returns the value of a variable without surrounding spaces. An empty result means that the
// variable is unset.
func Get(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// A Reader reads environment variables, and logs wrong variables. Readers with the same
// [record.SafeLogger] log each wrong variable once. A Reader is not safe for concurrent use.
type Reader struct {
	log   *slog.Logger
	wrong map[string]bool
}

// NewReader returns a Reader that logs to log. A nil log means slog.Default().
func NewReader(log *slog.Logger) *Reader {
	return &Reader{log: record.SafeLogger(log), wrong: map[string]bool{}}
}

// Read returns the parsed value of the first variable that is set and valid. Without such a
// variable, Read returns the default value. The parameter otherwise is the default value. Read logs
// each wrong variable together with the returned value.
func Read[T any](r *Reader, otherwise T, parse func(string) (T, bool), names ...string) T {
	got, found := otherwise, false
	var wrong []string
	for _, name := range names {
		value := Get(name)
		if value == "" {
			continue
		}
		switch v, ok := parse(value); {
		case !ok:
			wrong = append(wrong, name)
		case !found:
			got, found = v, true
		}
	}
	for _, name := range wrong {
		r.Warn(name, got)
	}
	return got
}

// Warn logs that a variable is wrong. The parameter instead is the value that the program uses in
// place of the wrong value. The log line contains both values, without secrets.
func (r *Reader) Warn(name string, instead any) {
	r.wrong[name] = true
	if !record.Once(r.log, "wrong "+name) {
		return
	}
	v := lookUp(name)
	r.log.Warn("perfline: environment variable ignored: wrong value",
		"variable", name, "value", v.show(Raw(name)), "rule", v.Rule(), "instead",
		fmt.Sprint(instead))
}

// List returns the choices in a variable, in lower case and without duplicates. Commas separate the
// choices in the variable. If the variable contains "none", List returns only "none". If the
// variable is unset or contains no known choice, the list is empty.
//
// List logs unknown choices together with the returned list. If the list is empty, the log line
// contains a text about the default. The parameter otherwise is this text.
func List(r *Reader, name, otherwise string) (list []string) {
	is := Choice(name)
	var unknown []string
	for word := range strings.SplitSeq(Get(name), ",") {
		word = strings.TrimSpace(word)
		switch choice, ok := is(word); {
		case word == "":
		case !ok:
			unknown = append(unknown, word)
		case !slices.Contains(list, choice):
			list = append(list, choice)
		}
	}
	if len(list) > 1 && slices.Contains(list, "none") {
		list = []string{"none"}
	}
	if len(unknown) == 0 {
		return list
	}
	r.wrong[name] = true
	if record.Once(r.log, "wrong "+name) {
		v := lookUp(name)
		r.log.Warn("perfline: environment variable ignored where it has unknown values",
			"variable", name, "value", v.show(strings.Join(unknown, ",")), "rule", v.Rule(),
			"instead", cmp.Or(strings.Join(list, ","), otherwise))
	}
	return list
}

// Ignored logs that a valid variable does not affect the program. The parameter why is the reason
// in the log line.
func (r *Reader) Ignored(name, why string) {
	if record.Once(r.log, "ignored "+name) {
		r.log.Warn("perfline: environment variable without effect", "variable", name, "reason", why)
	}
}

// Wrong reports whether r read a wrong value from the variable.
func (r *Reader) Wrong(name string) bool { return r.wrong[name] }

// Error returns an error for a wrong variable. The error contains the name, the value and the rule.
// For a secret variable, the error contains only the length of the value.
func Error(name string) error {
	v := lookUp(name)
	if v.Secret {
		return fmt.Errorf("%s (%s): %s", name, v.show(Raw(name)), v.Rule())
	}
	return fmt.Errorf("%s %q: %s", name, v.show(Raw(name)), v.Rule())
}

// show returns a value without secrets.
func (v Variable) show(value string) string {
	if v.Secret {
		return fmt.Sprintf("%d bytes", len(value))
	}
	value = strings.TrimSpace(value)
	if v.hide != nil {
		value = v.hide(value)
	}
	if strings.Contains(value, "://") { // a URL in the wrong variable
		value = secret.URL(value)
	}
	return text.Cut(value, maxShown)
}
