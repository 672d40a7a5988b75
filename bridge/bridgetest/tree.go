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

// Tree returns the spans and the events as text. Each span and each event is one line. The lines
// are sorted by start. Two spaces indent each level:
//
//	GET /products/{id} (server)
//	  * cache.miss key=7
//	  render (error: no template)
//
// A line contains these parts in order:
//
//   - An asterisk, for an event and for a mark without a span.
//   - The name.
//   - The attributes with the given keys, in the order of keys. The key "*" selects all attributes.
//   - The kind, unless the kind is internal.
//   - The error, if any.
//   - "not ended", for an open span.
func (r *Recorder) Tree(keys ...attribute.Key) string {
	var top []line
	for _, e := range r.Entries(observer.Filter{Type: record.Mark}) {
		if (*record.Entry)(&e).Span() == (record.SpanIDs{}) {
			text := "* " + e.Name() + formatAttributes(attributes(&e), keys)
			top = append(top, line{at: e.Time(), text: text})
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

const allKeys attribute.Key = "*"

// Want fails the test unless the result of Tree(keys...) equals want. Want ignores empty lines at
// both ends of want. Want also removes the indentation of the first line from all lines of want.
func (r *Recorder) Want(want string, keys ...attribute.Key) {
	r.t.Helper()
	if got, want := r.Tree(keys...), dedent(want); got != want {
		r.t.Errorf("recorded\n%swant\n%s", got, want)
	}
}

type line struct {
	at       time.Time
	text     string
	children []line
}

func lineOf(s *Span, keys []attribute.Key) line {
	l := line{at: s.StartTime, text: s.Name + formatAttributes(s.Attributes, keys)}
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
		text := "* " + e.Name + formatAttributes(e.Attributes, keys)
		l.children = append(l.children, line{at: e.Time, text: text})
	}
	for _, child := range s.Children {
		l.children = append(l.children, lineOf(child, keys))
	}
	return l
}

func write(b *strings.Builder, lines []line, indent string) {
	slices.SortStableFunc(lines, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range lines {
		fmt.Fprintf(b, "%s%s\n", indent, l.text)
		write(b, l.children, indent+"  ")
	}
}

func formatAttributes(attrs []attribute.KeyValue, keys []attribute.Key) string {
	var b strings.Builder
	for _, key := range keys {
		for _, kv := range attrs {
			if kv.Key == key || key == allKeys {
				fmt.Fprintf(&b, " %s=%s", text.Escape(string(kv.Key), ""),
					text.Escape(kv.Value.String(), ""))
			}
		}
	}
	return b.String()
}

func attributes(e *observer.Entry) (all []attribute.KeyValue) {
	for a := range (*record.Entry)(e).Attrs() {
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
