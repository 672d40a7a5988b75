package bridge_test

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"log/slog"
	rt "runtime/trace"
	"strings"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
)

// Texts of any length from outside are cut at their entry. The runtime of Go 1.26 ends a program that gives its tracer a name of 64 KiB.
func TestTextsFromOutsideAreCut(t *testing.T) {
	var written bytes.Buffer
	if err := rt.Start(&written); err != nil {
		t.Fatal(err)
	}
	defer rt.Stop()
	long := strings.Repeat("ä", 70_000)
	exported := &exportedSpans{}
	p := newPerfline(t, providerConfig{exporter: exported})
	_, s := p.Tracer("test").Start(t.Context(), long, trace.WithAttributes(attribute.Int(long, 1)))
	s.SetAttributes(attribute.Int(long+"b", 1)) // cut, it is the same key
	s.AddEvent(long)
	s.SetName("b" + long)
	s.SetStatus(codes.Error, long)
	s.End()
	_, begun := p.Tracer("test").Start(t.Context(), long)
	begun.End()
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := exported.all()[0]
	for what, c := range map[string]struct {
		text string
		most int
	}{
		"name": {got.Name, record.MaxName}, "name at the start": {exported.spans[1].Name, record.MaxName}, "key": {string(got.Attributes[0].Key), record.MaxKey},
		"event": {got.Events[0].Name, record.MaxName}, "status": {got.Status.Description, record.MaxText},
	} {
		if len(c.text) > c.most || len(c.text) < c.most-4 || !utf8.ValidString(c.text) {
			t.Errorf("the %s has %d bytes, valid UTF-8: %v; want %d", what, len(c.text), utf8.ValidString(c.text), c.most)
		}
	}
	if len(got.Attributes) != 1 {
		t.Errorf("there are %d attributes, want one", len(got.Attributes))
	}
	rt.Stop()
	if written.Len() == 0 {
		t.Error("no trace was written")
	}
}

// slog's default handler prints a line, also when the handler around it becomes the default: without care it would wait for itself.
func TestDefaultHandlerInsidePrints(t *testing.T) {
	before, to := slog.Default(), log.Writer()
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(to)
	})
	var lines bytes.Buffer
	log.SetOutput(&lines)
	slog.SetDefault(slog.New(bridge.NewHandler(slog.Default().Handler())))
	slog.Info("first")
	log.Print("second")
	slog.SetDefault(before) // which leaves package log at the handler
	slog.Info("third")
	for _, line := range []string{"INFO first\n", "INFO second\n", "third\n"} {
		if got := lines.String(); strings.Count(got, line) != 1 {
			t.Errorf("printed %q, want %q once", got, line)
		}
	}
}

// typed is an error with a pointer's method. The method of a nil pointer panics.
type typed struct{ text string }

func (e *typed) Error() string { return e.text }

// An error that panics when it is asked for its text becomes an event as other errors do.
func TestRecordTypedNil(t *testing.T) {
	exported := &exportedSpans{}
	p := newPerfline(t, providerConfig{exporter: exported})
	_, s := p.Tracer("test").Start(t.Context(), "s")
	var none *typed
	s.RecordError(none)
	s.RecordError(errors.Join(errors.New("a"), none))
	s.End()
	if err := p.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if events := exported.all()[0].Events; len(events) != 2 || !strings.Contains(events[0].Attributes[1].Value.AsString(), "PANIC") ||
		!strings.Contains(events[1].Attributes[1].Value.AsString(), "PANIC") {
		t.Errorf("the events are %+v", events)
	}
}

// What a client chose is sent once, on the local root, and travels on whole. A link has it up to 512 bytes.
func TestLongTraceStateIsSentOnce(t *testing.T) {
	for _, c := range []struct {
		length int
		below  bool
	}{{99, true}, {499, true}, {599, false}, {3_000, false}} {
		var members []string // of 100 bytes, with their commas
		for rest := c.length + 1; rest > 0; rest -= 100 {
			members = append(members, fmt.Sprintf("k%d=", len(members))+strings.Repeat("v", max(1, min(100, rest)-5)))
		}
		state := strings.Join(members, ",")
		parsed, err := trace.ParseTraceState(state)
		if err != nil {
			t.Fatalf("%d: %v", c.length, err)
		}
		exported := &exportedSpans{}
		p := newPerfline(t, providerConfig{exporter: exported})
		remote := trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, TraceState: parsed,
		}))
		ctx, root := p.Tracer("test").Start(remote, "root")
		_, child := p.Tracer("test").Start(ctx, "child")
		if child.SpanContext().TraceState().String() != parsed.String() {
			t.Errorf("%d bytes: the child does not pass it on", c.length)
		}
		child.AddLink(trace.Link{SpanContext: trace.SpanContextFromContext(remote)})
		child.End()
		root.End()
		if err := p.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, s := range exported.all() {
			want := ""
			if s.Name == "root" || c.below {
				want = parsed.String()
			}
			if got := s.TraceState; got != want {
				t.Errorf("%d bytes: %s is sent with %d bytes, want %d", c.length, s.Name, len(got), len(want))
			}
			for _, l := range s.Links {
				if got := l.SpanContext.TraceState().String(); (got == parsed.String()) != c.below || !c.below && got != "" {
					t.Errorf("%d bytes: a link is sent with %d bytes", c.length, len(got))
				}
			}
		}
	}
}
