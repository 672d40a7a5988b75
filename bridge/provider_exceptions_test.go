package bridge_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

type valueError struct{ text string }

func (e valueError) Error() string { return e.text }

type pointerError struct{ text string }

func (e *pointerError) Error() string { return e.text }

type number int

func (n number) String() string { return fmt.Sprintf("number %d", int(n)) }

// wrongStringer is a value whose String panics.
type wrongStringer struct{}

func (wrongStringer) String() string { panic("in String") }

const thisPackage = "github.com/perfline/perfline/bridge_test."

// RecordError adds an event: the caller's attributes, the type with its import path, and the message.
func TestProviderRecordError(t *testing.T) {
	at := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	type exception struct {
		name    string
		err     error
		options []trace.EventOption
		want    string
	}
	cases := []exception{
		{"nil", nil, nil, ""},
		{"value", valueError{"boom"}, nil, "exception[exception.type=" + thisPackage + "valueError exception.message=boom]-0"},
		{"pointer", &pointerError{"boom"}, nil, "exception[exception.type=*bridge_test.pointerError exception.message=boom]-0"},
		{"errors.New", errors.New("boom"), nil, "exception[exception.type=*errors.errorString exception.message=boom]-0"},
		{"joined", errors.Join(errors.New("a"), errors.New("b")), nil, "exception[exception.type=*errors.joinError exception.message=a\nb]-0"},
		{"attributes", valueError{""}, []trace.EventOption{trace.WithAttributes(pairs("a=1")...), trace.WithStackTrace(false)},
			"exception[a=1 exception.type=" + thisPackage + "valueError exception.message=]-0"},
		{"attributes over the limit", valueError{"boom"}, []trace.EventOption{trace.WithAttributes(pairs("a=1 b=2")...), trace.WithStackTrace(true)},
			"exception[a=1 b=2 exception.type=" + thisPackage + "valueError]-2"},
	}
	overBothOf(t, cases, func(c exception) string { return c.name }, func(t *testing.T, start newProvider, c exception) {
		_, tracer, got := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) { l.AttributePerEventCountLimit = 3 })})
		_, s := tracer.Start(t.Context(), "span")
		s.RecordError(c.err, append(c.options, trace.WithTimestamp(at))...)
		s.End()
		ended := got.one(t, "span")
		if eventList(ended) != c.want || ended.Status() != (sdktrace.Status{}) {
			t.Errorf("events are %q and the status %v, want %q and no status", eventList(ended), ended.Status(), c.want)
		}
		if c.want != "" && !ended.Events()[0].Time.Equal(at) {
			t.Errorf("the time is %v", ended.Events()[0].Time)
		}
	})
}

// The stack of an exception begins with the goroutine and has the caller. It has at most 2048 bytes.
func TestProviderExceptionStack(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		_, s := tracer.Start(t.Context(), "span")
		recordHere(s)
		recordDeep(s, 100)
		func() {
			defer func() { _ = recover() }()
			endUnderPanic(s)
		}()
		events := got.one(t, "span").Events()
		for i, caller := range []string{"recordHere", "recordDeep", "endUnderPanic"} {
			attrs := events[i].Attributes
			stack := attrs[len(attrs)-1]
			if stack.Key != "exception.stacktrace" || !strings.HasPrefix(stack.Value.AsString(), "goroutine ") || !strings.Contains(stack.Value.AsString(), caller) {
				t.Errorf("%s: the stack is %s", caller, stack.Value.AsString())
			}
			if n := len(stack.Value.AsString()); n > 2048 || caller == "recordDeep" && n != 2048 {
				t.Errorf("%s: the stack has %d bytes", caller, n)
			}
		}
	})
}

func recordHere(s trace.Span) { s.RecordError(errors.New("boom"), trace.WithStackTrace(true)) }

func recordDeep(s trace.Span, levels int) {
	if levels == 0 {
		recordHere(s)
		return
	}
	recordDeep(s, levels-1)
}

func endUnderPanic(s trace.Span) {
	defer s.End(trace.WithStackTrace(true))
	panic("boom")
}

// A deferred End records the panic, ends the span, and the same panic goes on.
func TestProviderPanics(t *testing.T) {
	pointer := &pointerError{"boom"}
	type panicked struct {
		name  string
		value any
		want  string
	}
	cases := []panicked{
		{"text", "boom", "exception[exception.type=.string exception.message=boom]-0"},
		{"error", pointer, "exception[exception.type=*bridge_test.pointerError exception.message=boom]-0"},
		{"errors.New", errors.New("boom"), "exception[exception.type=*errors.errorString exception.message=boom]-0"},
		{"Stringer", number(7), "exception[exception.type=" + thisPackage + "number exception.message=number 7]-0"},
		{"String panics", wrongStringer{}, "exception[exception.type=" + thisPackage + "wrongStringer exception.message=%!v(PANIC=String method: in String)]-0"},
		{"slice", []int{1}, "exception[exception.type=[]int exception.message=[1]]-0"},
		{"nil", nil, "exception[exception.type=*runtime.PanicNilError exception.message=" + new(runtime.PanicNilError).Error() + "]-0"},
	}
	overBothOf(t, cases, func(c panicked) string { return c.name }, func(t *testing.T, start newProvider, c panicked) {
		for _, without := range []bool{false, true} {
			exported := &exportedSpans{}
			_, tracer, got := recorded(t, start, providerConfig{withoutPanics: without, exporter: exported})
			var recovered any
			func() {
				defer func() { recovered = recover() }()
				_, s := tracer.Start(t.Context(), "span")
				defer s.End()
				panic(c.value)
			}()
			if want := fmt.Sprintf("%T", c.value); c.value != nil && fmt.Sprintf("%T", recovered) != want || recovered == nil || c.value == any(pointer) && recovered != any(pointer) {
				t.Errorf("the panic went on with %#v, want %#v", recovered, c.value)
			}
			want := c.want
			if without {
				want = ""
			}
			if s := got.one(t, "span"); eventList(s) != want || s.EndTime().IsZero() || s.Status() != (sdktrace.Status{}) {
				t.Errorf("events are %q and the status %v, want %q", eventList(s), s.Status(), want)
			}
			if names := exported.names(); names != "" && names != "span" {
				t.Errorf("exported %s", names)
			}
		}
	})
}

// An error of the runtime is a panic as well.
func TestProviderRuntimeError(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		func() {
			defer func() {
				var err runtime.Error
				if p, _ := recover().(error); !errors.As(p, &err) {
					t.Errorf("recovered %v", p)
				}
			}()
			_, s := tracer.Start(t.Context(), "span")
			defer s.End()
			zero := len(got.all())
			_ = 1 / zero
		}()
		if got := eventList(got.one(t, "span")); !strings.Contains(got, "exception.type=runtime.") || !strings.Contains(got, "divide by zero") {
			t.Errorf("events are %s", got)
		}
	})
}

// Only a deferred End records a panic: recover works in the deferred function alone.
func TestProviderPanicBelow(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		func() {
			defer func() { _ = recover() }()
			_, s := tracer.Start(t.Context(), "called")
			defer func() { s.End() }()
			panic("boom")
		}()
		func() {
			_, s := tracer.Start(t.Context(), "recovered before")
			defer s.End()
			defer func() { _ = recover() }()
			panic("boom")
		}()
		for _, name := range []string{"called", "recovered before"} {
			if s := got.one(t, name); len(s.Events()) > 0 {
				t.Errorf("%s: events are %s", name, eventList(s))
			}
		}
	})
}

// Each span that ends under a panic records it.
func TestProviderPanicOfSeveral(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		func() {
			defer func() { _ = recover() }()
			ctx, root := tracer.Start(t.Context(), "root")
			defer root.End()
			_, child := tracer.Start(ctx, "child")
			defer child.End()
			panic("boom")
		}()
		for _, name := range []string{"root", "child"} {
			if s := got.one(t, name); len(s.Events()) != 1 {
				t.Errorf("%s: events are %s", name, eventList(s))
			}
		}
	})
}

// Goexit is no panic. The span ends and the goroutine does.
func TestProviderGoexit(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, s := tracer.Start(t.Context(), "span")
			defer s.End()
			runtime.Goexit()
		}()
		<-done
		if s := got.one(t, "span"); len(s.Events()) > 0 {
			t.Errorf("events are %s", eventList(s))
		}
	})
}

// selfError is an error that uses its span.
type selfError struct{ span trace.Span }

func (e selfError) Error() string {
	e.span.AddEvent("in Error")
	e.span.SetAttributes(attribute.Int("a", 1))
	return "boom"
}

// An error may use the span that records it.
func TestProviderErrorUsesItsSpan(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		_, s := tracer.Start(t.Context(), "span")
		s.RecordError(selfError{s})
		s.End()
		want := "in Error[]-0 exception[exception.type=" + thisPackage + "selfError exception.message=boom]-0"
		if s := got.one(t, "span"); eventList(s) != want || len(s.Attributes()) != 1 {
			t.Errorf("events are %s, want %s", eventList(s), want)
		}
	})
}
