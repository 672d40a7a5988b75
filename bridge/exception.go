package bridge

import (
	"runtime"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
)

// RecordError adds an exception event. It does not set the status.
func (s *recordedSpan) RecordError(err error, options ...trace.EventOption) {
	if err == nil || !s.isOpen() {
		return
	}
	c := trace.NewEventConfig(options...)
	message, stack := record.GoexitText, stackOf(c.StackTrace())
	// also if the method of err ends the goroutine
	defer func() { s.addException(err, message, stack, c) }()
	message = record.ErrorText(err)
}

// maxStack is the length of a stack in an event, in bytes. It is the same as the SDK's.
const maxStack = 2048

// addException adds the event of an error or of a panic's value.
func (s *recordedSpan) addException(v any, message, stack string, c trace.EventConfig) {
	attrs := append(c.Attributes(), semconv.ExceptionType(record.TypeName(v)),
		semconv.ExceptionMessage(message))
	if stack != "" {
		attrs = append(attrs, semconv.ExceptionStacktrace(stack))
	}
	s.addEvent(sdktrace.Event{Name: semconv.ExceptionEventName, Time: c.Timestamp(),
		Attributes: attrs})
}

// stackOf returns the stack of this goroutine if it is wanted.
func stackOf(wanted bool) string {
	if !wanted {
		return ""
	}
	text := make([]byte, maxStack)
	return string(text[:runtime.Stack(text, false)])
}
