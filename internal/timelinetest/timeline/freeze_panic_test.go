package timeline_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// method is a function that stands for a method of the program's.
type method func() string

func (m method) Error() string { return m() }

type (
	asString  struct{ m method }
	asText    struct{ m method }
	asAppend  struct{ m method }
	asFormat  struct{ m method }
	asValue   struct{ m method }
	asPointer struct{ m method }
)

func (s asString) String() string                    { return s.m() }
func (s asText) MarshalText() ([]byte, error)        { return []byte(s.m()), nil }
func (s asAppend) AppendText([]byte) ([]byte, error) { return []byte(s.m()), nil }
func (s asFormat) Format(f fmt.State, _ rune)        { fmt.Fprint(f, "before ", s.m()) }
func (s asValue) LogValue() slog.Value               { return slog.StringValue(s.m()) }
func (s *asPointer) String() string                  { return s.m() }

// everyMethod has m as each method that a value can have, also within other values.
func everyMethod(m method) map[string]any {
	return map[string]any{
		"Error": m, "String": asString{m}, "MarshalText": asText{m}, "AppendText": asAppend{m}, "Format": asFormat{m}, "LogValue": asValue{m},
		"Error of an element": []any{m}, "Format of a field": struct{ F asFormat }{asFormat{m}}, "String of a key": map[any]int{&asPointer{m}: 1},
		"LogValue of a member": lazyValue{slog.GroupValue(slog.Any("m", asValue{m}))}, "String of a member": lazyValue{slog.GroupValue(slog.Any("m", asString{m}))},
	}
}

var minusOne = -1

func TestPanicsBecomeText(t *testing.T) {
	for name, v := range everyMethod(func() string { panic("no") }) {
		got := frozen(t, slog.Any("k", v), slog.Int("next", 1))
		s := got[0].Value.String()
		if name == "String of a key" || strings.HasPrefix(name, "LogValue") { // has a pointer, or a stack
			if !strings.Contains(strings.ToLower(s), "panic") {
				t.Errorf("%s: got %q", name, s)
			}
		} else if want := byTextHandler(t, v); strings.Contains(name, "member") {
			if s != "[m=%!v(PANIC=String method: no)]" {
				t.Errorf("%s: got %q", name, s)
			}
		} else if name != "AppendText" && s != want { // Go 1.26's TextHandler does not call it
			t.Errorf("%s: got %q, want %q", name, s, want)
		}
		if len(got) != 2 || got[1].Value.Int64() != 1 {
			t.Errorf("%s: the next attribute is not there: %v", name, got)
		}
	}
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"nil pointer", (*asPointer)(nil), "<nil>"},
		{"nil pointer to a TextMarshaler", (*asText)(nil), "<nil>"},
		{"nil pointer in a list", []error{(*pointerError)(nil)}, "[<nil>]"},
		{"a value that has no methods", asString{func() string { panic(struct{ A int }{1}) }}, "%!v(PANIC=String method: {1})"},
		{"an error", asString{func() string { panic(errors.New("bad")) }}, "%!v(PANIC=String method: bad)"},
		{"of the runtime", asString{func() string { return []string{}[minusOne+1] }}, "%!v(PANIC=String method: runtime error: index out of range [0] with length 0)"},
	} {
		if got := text(t, c.v); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A panic whose value cannot be printed, because that panics in turn.
func TestNestedPanics(t *testing.T) {
	var itself method
	itself = func() string { panic(itself) }
	twice := method(func() string { panic(method(func() string { panic("deep") })) })
	thrice := method(func() string { panic(twice) })
	for panics, m := range map[string]method{"itself": itself, "twice": twice, "thrice": thrice} {
		for name, v := range everyMethod(m) {
			got := frozen(t, slog.Any("k", v), slog.Int("next", 1))
			if s := strings.ToLower(got[0].Value.String()); name != "LogValue" && !strings.Contains(s, "panic") {
				t.Errorf("%s panics with %s: got %q", name, panics, s)
			}
			if got[1].Value.Int64() != 1 {
				t.Errorf("%s panics with %s: the next attribute is %v", name, panics, got[1])
			}
		}
	}
	if got := text(t, asString{twice}); got != byTextHandler(t, asString{twice}) || got != "!PANIC: deep" {
		t.Errorf("got %q, want %q", got, byTextHandler(t, asString{twice}))
	}
}

// inGoroutine calls f, which may end its goroutine, and reports whether it returned.
func inGoroutine(f func()) (returned bool) {
	var wg sync.WaitGroup
	spawn(&wg, func() {
		f()
		returned = true
	})
	wg.Wait()
	return returned
}

// The entry is recorded when a method ends the goroutine, and the timeline goes on.
func TestGoexitDoesNoHarm(t *testing.T) {
	exit := method(func() string { runtime.Goexit(); return "" })
	inPanic := method(func() string { panic(exit) })
	inNested := method(func() string { panic(inPanic) })
	for how, m := range map[string]method{"itself": exit, "in a panic's value": inPanic, "in a nested panic's value": inNested} {
		for name, v := range everyMethod(m) {
			if how != "itself" && strings.HasPrefix(name, "LogValue") { // slog does not print the panic
				continue
			}
			t.Run(name+" "+how, func(t *testing.T) {
				tl := newManual()
				attrs := []slog.Attr{slog.Any("a", []int64{1}), slog.Any("k", v), slog.Any("later", errors.New("e")), slog.Int("n", 1)}
				if inGoroutine(func() { rec(tl.Timeline).Record(record.Mark, "m", 0, 0, attrs) }) {
					t.Fatal("it returned")
				}
				want := "[a=[1] k=!GOEXIT later=!GOEXIT n=1]"
				if got := tl.Entries(); len(got) != 1 || fmt.Sprint(got[0].Detail()) != want {
					t.Errorf("got %v, want %s", got, want)
				}
				if inGoroutine(func() { _, _ = rec(tl.Timeline).NewEntry(record.Mark, "m", 0, 0, attrs...) }) {
					t.Fatal("NewEntry returned")
				}
				tl.add(observer.Mark, "next")
				want2 := []string{"m", "next"}
				if got := names(tl.Entries()); fmt.Sprint(got) != fmt.Sprint(want2) {
					t.Errorf("then there are %v, want %v", got, want2)
				}
			})
		}
	}
}

// Methods run on the goroutine that records, and may use the timeline: no lock is
// held.
func TestMethodsRunWithoutLocks(t *testing.T) {
	tl := newManual()
	child := tl.NewChild()
	if _, err := tl.Observe(func(observer.List) {}, marksOnly); err != nil {
		t.Fatal(err)
	}
	id := func() string {
		b := make([]byte, 64)
		b = b[:runtime.Stack(b, false)]
		return string(bytes.Fields(b)[1])
	}
	calls := 0
	var here string
	m := method(func() string {
		calls++
		if id() != here {
			t.Error("called on another goroutine")
		}
		for _, tl := range []*observer.Timeline{tl.Timeline, child} {
			rec(tl).Record(record.Mark, "inner", tl.Now(), 0, []slog.Attr{slog.Int("n", 1)})
			tl.Entries()
			rec(tl).Latest("inner")
			tl.Stats()
			rec(tl).Clear(record.Measure)
			tl.Deliver()
			if o, err := tl.Observe(func(observer.List) {}, both); err != nil {
				t.Error(err)
			} else {
				o.Disconnect()
			}
		}
		return "text"
	})
	inGoroutine(func() {
		here = id()
		for _, v := range everyMethod(m) {
			for _, tl := range []*observer.Timeline{tl.Timeline, child} {
				rec(tl).Record(record.Mark, "m", 0, 0, []slog.Attr{slog.Any("k", v)})
				if _, err := rec(tl).NewEntry(record.Mark, "m", 0, 0, slog.Any("k", v)); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if calls == 0 {
		t.Error("no method was called")
	}
	before := calls
	tl.run()
	for _, e := range tl.Entries() {
		_, _ = e.MarshalJSON()
		_ = fmt.Sprint(e, e.Detail())
	}
	if calls != before {
		t.Errorf("reading called methods %d times", calls-before)
	}
}

// An entry that is of an unknown type is dropped, and its attributes are left alone.
func TestUnknownTypesAreNotFrozen(t *testing.T) {
	tl := newManual()
	m := method(func() string { t.Error("called"); return "" })
	rec(tl.Timeline).Record("unknown", "m", 0, 0, []slog.Attr{slog.Any("k", m)})
	if _, err := rec(tl.Timeline).NewEntry("unknown", "m", 0, 0, slog.Any("k", m)); err == nil {
		t.Error("no error")
	}
	if _, err := rec(tl.Timeline).NewEntry(record.Mark, "m", 1<<63-1, 0, slog.Any("k", m)); err == nil {
		t.Error("no error")
	}
}

// frozenFor is a tracer that keeps the kinds of attributes it was given.
type frozenFor struct {
	record.Tracer // nil: it is not asked for more

	kinds []slog.Kind
}

func (f *frozenFor) Measure(_ any, m record.Measured) {
	f.kinds = append(f.kinds, m.Attrs[0].Value.Kind())
}

// A tracer gets an entry that the timeline has no room for. Its attributes are frozen, too.
func TestLostEntriesAreFrozenForTheTracer(t *testing.T) {
	tl := newManual(func(o *observer.TimelineOptions) { o.MaxPending = 1 })
	for rec(tl.Timeline).Record(record.Mark, "m", 0, 0, nil) {
	}
	tracer := &frozenFor{}
	defer rec(tl.Timeline).Attach(tracer)()
	attr := slog.Any("k", method(func() string { return "text" }))
	if rec(tl.Timeline).Record(record.Measure, "m", 0, 0, []slog.Attr{attr}) {
		t.Error("the timeline has room, so this says nothing")
	}
	if !slices.Equal(tracer.kinds, []slog.Kind{slog.KindString}) {
		t.Errorf("the tracer got attributes of the kinds %v, want a string", tracer.kinds)
	}
}

// The report of a callback that panicked survives a value that cannot be printed.
func TestCallbackPanicsWithAnUnprintableValue_PT7(t *testing.T) {
	var itself method
	itself = func() string { panic(itself) }
	var log bytes.Buffer
	tl := newManual(func(o *observer.TimelineOptions) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	if _, err := tl.Observe(func(observer.List) { panic(itself) }, marksOnly); err != nil {
		t.Fatal(err)
	}
	tl.add(observer.Mark, "m")
	tl.run()
	if !strings.Contains(log.String(), "PANIC") {
		t.Errorf("logged %s", log.String())
	}
	if !rec(tl.Timeline).Record(record.Mark, "next", 0, 0, nil) || len(tl.Entries()) != 2 {
		t.Error("the timeline does not go on")
	}
}
