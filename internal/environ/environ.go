// Package environ reads the environment variables that configure perfline. [Variables] lists all of
// them. They follow the same rules:
//
//   - An empty variable means unset.
//   - A wrong variable is logged once, with its rule and the value that counts instead.
//   - A wrong variable without which nothing can work is an error.
//
// Variables that often hold secrets are logged without their values.
package environ

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/internal/text"
)

// maxShown is how many bytes of a value are shown.
const maxShown = 100

// Raw returns the variable as it is.
func Raw(name string) string { return os.Getenv(name) }

// Get returns the variable without the spaces around it. An empty value means unset.
func Get(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// A Reader logs each wrong variable once. It belongs to one goroutine.
type Reader struct {
	log     *slog.Logger
	wrong   map[string]bool
	ignored map[string]bool
}

// NewReader returns a Reader that logs to log, where nil means slog.Default().
func NewReader(log *slog.Logger) *Reader {
	return &Reader{log: record.SafeLogger(log), wrong: map[string]bool{},
		ignored: map[string]bool{}}
}

// Read returns what parse makes of the first variable that is set and right, else otherwise. It
// checks all of them, and logs each wrong one with the value that is returned.
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

// Warn logs that a variable is wrong, and what counts instead.
func (r *Reader) Warn(name string, instead any) {
	if r.wrong[name] {
		return
	}
	r.wrong[name] = true
	v := lookUp(name)
	r.log.Warn("perfline: environment variable ignored: wrong value",
		"variable", name, "value", v.show(Raw(name)), "rule", v.Rule(), "instead",
		fmt.Sprint(instead))
}

// List returns the choices that a variable names, separated by commas, in lower case and each once.
// It logs names that are no choice. Without another name, the list is empty, as that of a variable
// that is unset: otherwise says in the log what counts then. A choice none is the only one.
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
	if len(unknown) > 0 && !r.wrong[name] {
		r.wrong[name] = true
		v := lookUp(name)
		r.log.Warn("perfline: environment variable ignored where it has unknown values", "variable",
			name,
			"value", v.show(strings.Join(unknown, ",")), "rule", v.Rule(), "instead",
			cmp.Or(strings.Join(list, ","), otherwise))
	}
	return list
}

// Ignored logs that a variable, which is right, has no effect.
func (r *Reader) Ignored(name, why string) {
	if r.ignored[name] {
		return
	}
	r.ignored[name] = true
	r.log.Warn("perfline: environment variable without effect", "variable", name, "reason", why)
}

// Wrong reports whether the variable was found to be wrong.
func (r *Reader) Wrong(name string) bool { return r.wrong[name] }

// Error returns an error that names a wrong variable, its value and its rule.
func Error(name string) error {
	v := lookUp(name)
	if v.Secret {
		return fmt.Errorf("%s (%s): %s", name, v.show(Raw(name)), v.Rule())
	}
	return fmt.Errorf("%s %q: %s", name, v.show(Raw(name)), v.Rule())
}

// show returns as much of a value as may be printed.
func (v Variable) show(value string) string {
	if v.Secret {
		return fmt.Sprintf("%d bytes", len(value))
	}
	value = strings.TrimSpace(value)
	if v.hide != nil {
		value = v.hide(value)
	}
	if strings.Contains(value, "://") { // also in a variable for something else
		value = secret.URL(value)
	}
	return text.Cut(value, maxShown)
}

type contextKey struct{}

// NewContext returns a context with r, for parts that a caller starts: each wrong variable is
// logged once then, although several parts read it.
func NewContext(ctx context.Context, r *Reader) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the Reader of ctx, or else a new one that logs to log.
func FromContext(ctx context.Context, log *slog.Logger) *Reader {
	if r, ok := ctx.Value(contextKey{}).(*Reader); ok {
		return r
	}
	return NewReader(log)
}
