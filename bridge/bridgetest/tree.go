package bridgetest

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
)

// Tree returns the spans and their events as text: a line for each, and two spaces more for each
// level. They are in the order of their start.
//
//	GET /products/{id} (server)
//	  * cache.miss key=7
//	  render (error: no template)
//
// A line has the name, then the attributes with the given keys, in that order, then what is
// special: a kind other than internal, an error, and "not ended". The key "*" stands for all
// attributes. Events have an asterisk, and so have marks under no span.
func (r *Recorder) Tree(keys ...attribute.Key) string {
	var top []line
	for _, e := range r.Entries(observer.Filter{Type: record.Mark}) {
		// ObserversOnly is set for a mark under a span that is not sampled
		if (*record.Entry)(&e).Span() == (record.SpanIDs{}) {
			top = append(top, line{at: e.Time(), text: "* " +
				e.Name() + texts(attributes(&e), keys)})
		}
	}
	for _, s := range r.Spans() {
		if s.Parent == nil {
			top = append(top, lineOf(s, keys))
		}
	}
	var b strings.Builder
	write(&b, top, "")
	return b.String()
}

const every attribute.Key = "*"

// Want fails the test unless the tree, with the attributes of these keys, is as wanted. Empty lines
// at the beginning and the end of want do not count, nor does the indentation of its first line.
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

func lineOf(s *Span, keys []attribute.Key) line {
	l := line{at: s.StartTime, text: s.Name + texts(s.Attributes, keys)}
	if s.SpanKind != trace.SpanKindInternal {
		l.text += " (" + s.SpanKind.String() + ")"
	}
	switch {
	case s.Status.Code != codes.Error:
	case s.Status.Description == "":
		l.text += " (error)"
	default:
		l.text += " (error: " + s.Status.Description + ")"
	}
	if s.EndTime.IsZero() {
		l.text += " (not ended)"
	}
	for _, e := range s.Events {
		l.below = append(l.below, line{at: e.Time, text: "* " + e.Name + texts(e.Attributes, keys)})
	}
	for _, child := range s.Children {
		l.below = append(l.below, lineOf(child, keys))
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

func texts(attrs []attribute.KeyValue, keys []attribute.Key) string {
	var b strings.Builder
	for _, key := range keys {
		for _, kv := range attrs {
			if kv.Key == key || key == every {
				fmt.Fprintf(&b, " %s=%s", text.Escape(string(kv.Key), ""),
					text.Escape(kv.Value.String(), ""))
			}
		}
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

// dedent removes empty lines at both ends, and the first line's indentation from all lines.
func dedent(text string) string {
	lines := strings.Split(strings.TrimRightFunc(text, unicode.IsSpace), "\n")
	for len(lines) > 1 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	indent := lines[0][:len(lines[0])-len(strings.TrimLeft(lines[0], " \t"))]
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimPrefix(l, indent) + "\n")
	}
	return strings.TrimPrefix(b.String(), "\n")
}
