package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/spanfuzz"
)

// An action is what a program does with a span. It has all its values, so that both sides do the same.
type action struct {
	text string
	do   func(s *side, ctx context.Context, span trace.Span)
}

func (a action) String() string { return a.text }

// action returns what the next bytes say.
func (j *judge) action() action {
	switch j.Below(11) {
	case 0, 1:
		attrs := j.attributes()
		return action{fmt.Sprintf("SetAttributes %d", len(attrs)), func(s *side, _ context.Context, span trace.Span) {
			span.SetAttributes(s.lend(slices.Clone(attrs))...)
		}}
	case 2, 3:
		name, options := record.Name(j.text()), j.eventOptions()
		return action{"AddEvent", func(s *side, _ context.Context, span trace.Span) { span.AddEvent(name, options(s)...) }}
	case 4:
		l := j.link()
		return action{"AddLink", func(s *side, _ context.Context, span trace.Span) { span.AddLink(l(s)) }}
	case 5:
		err, options := j.error(), j.eventOptions()
		return action{"RecordError", func(s *side, _ context.Context, span trace.Span) { span.RecordError(err, options(s)...) }}
	case 6:
		code, text := codes.Code(j.Below(5)), j.text()
		return action{fmt.Sprint("SetStatus ", code), func(_ *side, _ context.Context, span trace.Span) { span.SetStatus(code, text) }}
	case 7:
		name := record.Name(j.text())
		return action{"SetName", func(_ *side, _ context.Context, span trace.Span) { span.SetName(name) }}
	default:
		return j.end()
	}
}

// end returns one of the ways in which spans end.
func (j *judge) end() action {
	options := j.endOptions()
	switch j.Below(8) {
	case 0:
		v := j.panicValue()
		return action{"End in a panic", func(s *side, _ context.Context, span trace.Span) {
			s.current = span
			defer func() { s.note("recovered %v", recover()) }()
			defer span.End(options...)
			panic(v)
		}}
	case 1:
		return action{"End below the deferred function", func(s *side, _ context.Context, span trace.Span) {
			s.current = span
			defer func() { s.note("recovered %v", recover()) }()
			defer func() { span.End(options...) }()
			none := make([]int, 0, 1)
			_ = none[len(options)]
		}}
	case 2:
		return action{"End in Goexit", func(s *side, _ context.Context, span trace.Span) {
			s.current = span
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer span.End(options...)
				runtime.Goexit()
			}()
			<-ended
		}}
	case 3:
		return action{"End twice", func(s *side, _ context.Context, span trace.Span) {
			s.current = span
			span.End(options...)
			span.End()
		}}
	default:
		return action{"End", func(s *side, _ context.Context, span trace.Span) {
			s.current = span
			span.End(options...)
		}}
	}
}

func (j *judge) endOptions() (options []trace.SpanEndOption) {
	if j.Below(3) == 0 {
		options = append(options, trace.WithTimestamp(j.Time()))
	}
	if j.Below(3) == 0 {
		options = append(options, trace.WithStackTrace(j.Below(2) == 0))
	}
	return options
}

// eventOptions returns a function, because each side needs attributes of its own.
func (j *judge) eventOptions() func(*side) []trace.EventOption {
	var lists [][]attribute.KeyValue
	var options []trace.EventOption
	for range j.Below(3) {
		lists = append(lists, j.attributes())
	}
	if j.Below(3) == 0 {
		options = append(options, trace.WithTimestamp(j.Time()))
	}
	if j.Below(3) == 0 {
		options = append(options, trace.WithStackTrace(j.Below(2) == 0))
	}
	return func(s *side) []trace.EventOption {
		all := slices.Clone(options)
		for _, attrs := range lists {
			all = append(all, trace.WithAttributes(s.lend(slices.Clone(attrs))...))
		}
		return all
	}
}

// link returns a function, because each side needs attributes of its own.
func (j *judge) link() func(*side) trace.Link {
	var l trace.Link
	switch j.Below(4) {
	case 0:
	case 1:
		l.SpanContext = trace.NewSpanContext(trace.SpanContextConfig{TraceState: anotherState})
	default:
		l.SpanContext = j.Context()
	}
	if j.Below(2) == 0 {
		l.Attributes = j.attributes()
	}
	return func(s *side) trace.Link {
		return trace.Link{SpanContext: l.SpanContext, Attributes: s.lend(slices.Clone(l.Attributes))}
	}
}

// attributes are often few. Keys come again, and may be missing.
func (j *judge) attributes() []attribute.KeyValue {
	n := j.Below(4)
	if j.Below(16) == 0 {
		n = j.Below(80) // more than a loop looks through
	}
	attrs := make([]attribute.KeyValue, n)
	for i := range attrs {
		key := ""
		switch k := j.Below(16); {
		case k == 15:
			key = record.Key(j.Text()) // the SDK has no bound for keys
		case k > 0:
			key = fmt.Sprint("k", (k+i)%64)
		}
		attrs[i].Key = attribute.Key(key)
		switch j.Below(6) {
		case 0:
			attrs[i].Value = j.Value(0)
		case 1:
			attrs[i].Value = attribute.StringValue(j.text())
		case 2:
			attrs[i].Value = attribute.StringSliceValue(spanfuzz.List(&j.Source, j.text))
		default:
			attrs[i].Value = attribute.IntValue(j.Below(256))
		}
	}
	return attrs
}

// text is about as long as the limits of a text.
func (j *judge) text() string {
	switch j.Below(4) {
	case 0:
		return j.Text()
	case 1:
		return strings.Repeat("ä\xff\uFFFD", j.Below(16)) + "b"
	default:
		return strings.Repeat("text ", j.Below(8))
	}
}

type (
	textError   string
	structError struct{ error }
)

func (e *textError) Error() string { return string(*e) }

func (j *judge) error() error {
	text := textError(j.text())
	switch j.Below(6) {
	case 0:
		return nil
	case 1:
		return &text
	case 2:
		return structError{io.EOF}
	case 3:
		return struct{ error }{io.ErrUnexpectedEOF}
	case 4:
		return fmt.Errorf("%s: %w", text, context.Canceled)
	default:
		return errors.New(string(text))
	}
}

func (j *judge) panicValue() any {
	switch j.Below(6) {
	case 0:
		return nil
	case 1:
		return j.text()
	case 2:
		return int(j.Byte())
	case 3:
		return map[string]int{"a": 1}
	case 4:
		return time.Duration(j.Byte())
	default:
		return j.error()
	}
}
