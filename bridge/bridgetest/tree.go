package bridgetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
)

// Tree returns the spans and their events as text: a line for each, and two spaces more for each level. They are
// in the order of their start.
//
//	GET /products/{id} (server)
//	  * cache.miss key=7
//	  render (error: no template)
//
// A line has the name, then the attributes with the given keys, in that order, then what is special: a kind other than
// internal, an error, and "not ended". Events have an asterisk, and so have marks under no span.
func (r *Recorder) Tree(keys ...attribute.Key) string {
	return r.tree(func(all []attribute.KeyValue) (shown []attribute.KeyValue) {
		for _, key := range keys {
			for _, kv := range all {
				if kv.Key == key {
					shown = append(shown, kv)
				}
			}
		}
		return shown
	})
}

// whole is Tree with all attributes.
func (r *Recorder) whole() string {
	return r.tree(func(all []attribute.KeyValue) []attribute.KeyValue { return all })
}

// Want fails the test unless the tree, with the attributes of these keys, is as wanted. Empty lines at the beginning and
// the end of want do not count, nor does the indentation that all its lines have.
func (r *Recorder) Want(want string, keys ...attribute.Key) {
	r.t.Helper()
	if got, want := r.Tree(keys...), dedent(want); got != want {
		r.t.Errorf("recorded\n%swant\n%s", got, want)
	}
}

// A line is a line of a tree, with the lines below it.
type line struct {
	at    time.Time
	text  string
	below []line
}

func (r *Recorder) tree(show func([]attribute.KeyValue) []attribute.KeyValue) string {
	var top []line
	for _, e := range r.Entries(observer.Filter{Type: observer.Mark}) {
		if e.Span() == (observer.SpanIDs{}) {
			top = append(top, line{at: e.Time(), text: "* " + e.Name() + texts(show(attributes(&e)))})
		}
	}
	for _, s := range r.Spans() {
		if s.Parent == nil {
			top = append(top, lineOf(s, show))
		}
	}
	var b strings.Builder
	write(&b, top, "")
	return b.String()
}

func lineOf(s *Span, show func([]attribute.KeyValue) []attribute.KeyValue) line {
	l := line{at: s.Start, text: s.Name + texts(show(s.Attributes))}
	if s.Kind != trace.SpanKindInternal {
		l.text += " (" + s.Kind.String() + ")"
	}
	switch {
	case s.Status.Code != codes.Error:
	case s.Status.Description == "":
		l.text += " (error)"
	default:
		l.text += " (error: " + s.Status.Description + ")"
	}
	if s.End.IsZero() {
		l.text += " (not ended)"
	}
	for _, e := range s.Events {
		l.below = append(l.below, line{at: e.Time, text: "* " + e.Name + texts(show(e.Attributes))})
	}
	for _, child := range s.Children {
		l.below = append(l.below, lineOf(child, show))
	}
	return l
}

func write(b *strings.Builder, lines []line, indent string) {
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range lines {
		fmt.Fprintf(b, "%s%s\n", indent, l.text)
		write(b, l.below, indent+"  ")
	}
}

func texts(attrs []attribute.KeyValue) string {
	var b strings.Builder
	for _, kv := range attrs {
		fmt.Fprintf(&b, " %s=%s", kv.Key, kv.Value.String())
	}
	return b.String()
}

// attributes are an entry's, as text.
func attributes(e *observer.Entry) (all []attribute.KeyValue) {
	for a := range e.Attrs() {
		all = append(all, attribute.String(a.Key, a.Value.String()))
	}
	return all
}

// dedent removes empty lines at both ends, and the indentation that all lines have.
func dedent(text string) string {
	lines := strings.Split(text, "\n")
	empty := func(l string) bool { return strings.TrimSpace(l) == "" }
	for len(lines) > 0 && empty(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && empty(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return ""
	}
	indent := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " \t"))]
	for _, l := range lines {
		for !strings.HasPrefix(l, indent) && !empty(l) {
			indent = indent[:len(indent)-1]
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, indent)
	}
	return strings.Join(lines, "\n") + "\n"
}
