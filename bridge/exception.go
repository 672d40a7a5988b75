package bridge

import (
	"fmt"
	"reflect"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// RecordError adds an exception event. It does not set the status.
func (s *recordedSpan) RecordError(err error, options ...trace.EventOption) {
	if err == nil || !s.isOpen() {
		return
	}
	c := trace.NewEventConfig(options...)
	s.addEvent(sdktrace.Event{
		Name: semconv.ExceptionEventName, Time: c.Timestamp(),
		Attributes: append(c.Attributes(), exceptionAttributes(err, err.Error(), c.StackTrace())...),
	})
}

// panicEvent returns the event of a panic with the value p.
func panicEvent(p any, stack bool) sdktrace.Event {
	return sdktrace.Event{Name: semconv.ExceptionEventName, Time: time.Now(), Attributes: exceptionAttributes(p, fmt.Sprint(p), stack)}
}

// maxStack is the length of a stack in an event, in bytes. It is the same as the SDK's.
const maxStack = 2048

func exceptionAttributes(v any, message string, stack bool) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.ExceptionType(typeName(v)), semconv.ExceptionMessage(message)}
	if stack {
		text := make([]byte, maxStack)
		attrs = append(attrs, semconv.ExceptionStacktrace(string(text[:runtime.Stack(text, false)])))
	}
	return attrs
}

// typeName returns the type of v with its import path. A type without a name has none.
func typeName(v any) string {
	t := reflect.TypeOf(v)
	if t.PkgPath() == "" && t.Name() == "" {
		return t.String()
	}
	return t.PkgPath() + "." + t.Name()
}
