package marks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestHandlerPassesRecordsOn(t *testing.T) {
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return marks.NewHandler(slog.NewJSONHandler(&out, nil), slog.LevelInfo)
	}, func(t *testing.T) map[string]any { return object(t, out.Bytes()) })
}

// The marks satisfy slogtest's rules for a handler's output.
func TestHandlerMarks(t *testing.T) {
	var process *manual
	slogtest.Run(t, func(*testing.T) slog.Handler {
		var ctx context.Context
		process, ctx = newManual()
		return within{marks.NewHandler(nil, slog.LevelInfo), ctx}
	}, func(t *testing.T) map[string]any {
		entries := process.EntriesByType(observer.Mark)
		if len(entries) != 1 {
			t.Fatalf("%d marks, want 1", len(entries))
		}
		m := object(t, []byte(detail(t, entries[0])))
		m[slog.MessageKey] = entries[0].Name()
		if !strings.HasSuffix(t.Name(), "/zero-time") { // a mark always has the time at which it was made
			m[slog.TimeKey] = entries[0].Time()
		}
		return m
	})
}

// within is a handler whose records are all logged with ctx: slogtest's have none.
type within struct {
	slog.Handler
	ctx context.Context
}

func (w within) Handle(_ context.Context, r slog.Record) error { return w.Handler.Handle(w.ctx, r) }
func (w within) WithAttrs(attrs []slog.Attr) slog.Handler {
	return within{w.Handler.WithAttrs(attrs), w.ctx}
}
func (w within) WithGroup(name string) slog.Handler { return within{w.Handler.WithGroup(name), w.ctx} }

func object(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// detail is the entry's detail as slog's JSON, in its order.
func detail(t *testing.T, e observer.Entry) string {
	t.Helper()
	var out bytes.Buffer
	r := slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)
	r.AddAttrs(e.Detail()...)
	if err := slog.NewJSONHandler(&out, nil).Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	members := strings.TrimPrefix(strings.TrimSuffix(out.String(), "\n"), `{"level":"INFO","msg":""`)
	return "{" + strings.TrimPrefix(members, ",")
}

func TestHandlerAttributes(t *testing.T) {
	fails := errors.New("refused")
	for _, c := range []struct {
		name string
		log  func(*slog.Logger, context.Context)
		want string
	}{
		{"none", func(l *slog.Logger, ctx context.Context) { l.WarnContext(ctx, "m") }, `{"level":"WARN"}`},
		{"a level between", func(l *slog.Logger, ctx context.Context) { l.Log(ctx, slog.LevelWarn+1, "m") }, `{"level":"WARN+1"}`},
		{"the handler's come before the record's", func(l *slog.Logger, ctx context.Context) {
			l.With("a", 1).With("b", 2).ErrorContext(ctx, "m", "c", 3)
		}, `{"level":"ERROR","a":1,"b":2,"c":3}`},
		{"groups are nested, the level is outside", func(l *slog.Logger, ctx context.Context) {
			l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").WarnContext(ctx, "m", "c", 3)
		}, `{"level":"WARN","a":1,"g":{"b":2,"h":{"c":3}}}`},
		{"groups without attributes are left out", func(l *slog.Logger, ctx context.Context) {
			l.WithGroup("g").With().With(slog.Group("x")).WithGroup("h").WarnContext(ctx, "m", "", nil, slog.Group("i", slog.Group("j")))
		}, `{"level":"WARN"}`},
		{"a group without a name is none", func(l *slog.Logger, ctx context.Context) {
			slog.New(l.Handler().WithGroup("")).WarnContext(ctx, "m", slog.Group("", slog.Int("a", 1), slog.Group("", slog.Int("b", 2))))
		}, `{"level":"WARN","a":1,"b":2}`},
		{"nil", func(l *slog.Logger, ctx context.Context) { l.WarnContext(ctx, "m", "err", nil) }, `{"level":"WARN","err":null}`},
		{"what is no scalar is text", func(l *slog.Logger, ctx context.Context) {
			l.WarnContext(ctx, "m", "err", fails, "list", []int{1, 2}, "struct", struct{ A int }{1})
		}, `{"level":"WARN","err":"refused","list":"[1 2]","struct":"{A:1}"}`},
		{"an error that has a stack", func(l *slog.Logger, ctx context.Context) { l.WarnContext(ctx, "m", "err", traced{fails}) }, `{"level":"WARN","err":"refused\nmain.main"}`},
		{"values that panic", func(l *slog.Logger, ctx context.Context) {
			l.WarnContext(ctx, "m", "err", unspeakable{}, "n", 1)
		}, `{"level":"WARN","err":"%!v(PANIC=Error method: no)","n":1}`},
		{"more than a mark has room for", func(l *slog.Logger, ctx context.Context) {
			l.WarnContext(ctx, "m", "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6, "g", 7, "h", 8, "i", 9)
		}, `{"level":"WARN","a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			process, ctx := newManual()
			c.log(slog.New(marks.NewHandler(nil, nil)), ctx)
			entries := process.Entries()
			if len(entries) != 1 {
				t.Fatalf("%d entries, want 1", len(entries))
			}
			if got := detail(t, entries[0]); got != c.want {
				t.Errorf("attributes %s, want %s", got, c.want)
			}
			if level := entries[0].Detail()[0].Value; level.Kind() != slog.KindString {
				t.Errorf("the level is %v, want a string", level.Kind())
			}
		})
	}
}

// traced is an error that shows its stack when asked for more.
type traced struct{ error }

func (e traced) Format(s fmt.State, _ rune) {
	fmt.Fprint(s, e.error)
	if s.Flag('+') {
		fmt.Fprint(s, "\nmain.main")
	}
}

// unspeakable is an error that cannot say what it is.
type unspeakable struct{}

func (unspeakable) Error() string { panic("no") }

// Loggers made from one logger share its attributes and nothing else.
func TestHandlersOfOneLoggerAreApart(t *testing.T) {
	process, ctx := newManual()
	base := slog.New(marks.NewHandler(nil, nil)).With("a", 1).With("b", 2).With("c", 3) // as many as leave room in a slice
	in, deep := base.WithGroup("g"), base.WithGroup("g").WithGroup("h").WithGroup("i")
	loggers := []*slog.Logger{ // all made before any is used
		base.With("left", 1), base.With("right", 1),
		in.With("left", 1), in.With("right", 1),
		deep.WithGroup("left"), deep.WithGroup("right"),
	}
	want := []string{
		`{"level":"WARN","a":1,"b":2,"c":3,"left":1,"d":4}`,
		`{"level":"WARN","a":1,"b":2,"c":3,"right":1,"d":4}`,
		`{"level":"WARN","a":1,"b":2,"c":3,"g":{"left":1,"d":4}}`,
		`{"level":"WARN","a":1,"b":2,"c":3,"g":{"right":1,"d":4}}`,
		`{"level":"WARN","a":1,"b":2,"c":3,"g":{"h":{"i":{"left":{"d":4}}}}}`,
		`{"level":"WARN","a":1,"b":2,"c":3,"g":{"h":{"i":{"right":{"d":4}}}}}`,
	}
	for _, l := range loggers {
		l.WarnContext(ctx, "m", "d", 4)
	}
	for i, e := range process.Entries() {
		if got := detail(t, e); got != want[i] {
			t.Errorf("logger %d: attributes %s, want %s", i, got, want[i])
		}
	}
	if h := base.Handler(); h.WithGroup("") != h {
		t.Error("a group without a name made another handler")
	}
}

// counting is a LogValuer that tells how often it was asked.
type counting int

func (c *counting) LogValue() slog.Value {
	*c++
	return slog.IntValue(int(*c))
}

// Code that logs does not know that a mark is kept.
func TestHandlerKeepsValuesOfTheCall(t *testing.T) {
	process, ctx := newManual()
	list, attrs, asked := []int{1}, []slog.Attr{slog.Int("member", 1)}, counting(0)
	slog.New(marks.NewHandler(nil, nil)).With("early", list).WarnContext(ctx, "m", "late", list, "group", slog.GroupValue(attrs...), "asked", &asked)
	list[0], attrs[0], asked = 2, slog.Int("member", 2), 5
	want := `{"level":"WARN","early":"[1]","late":"[1]","group":{"member":1},"asked":1}`
	if got := detail(t, process.Entries()[0]); got != want {
		t.Errorf("attributes %s, want %s", got, want)
	}
}

// levels is a handler that is enabled at or above a level, gathers messages and fails.
type levels struct {
	slog.Handler
	min slog.Level
	got *[]string
}

var errFull = errors.New("disk full")

func (h levels) Enabled(_ context.Context, level slog.Level) bool { return level >= h.min }
func (h levels) Handle(_ context.Context, r slog.Record) error {
	*h.got = append(*h.got, r.Message)
	return errFull
}

func TestHandlerLevels(t *testing.T) {
	var changed slog.LevelVar
	changed.Set(slog.LevelError)
	for _, c := range []struct {
		name   string
		level  slog.Leveler
		next   slog.Level // it is enabled from there on
		marked string
		passed string
	}{
		{"default", nil, slog.LevelInfo, "WARN ERROR", "INFO WARN ERROR"},
		{"next wants less", slog.LevelInfo, slog.LevelError, "INFO WARN ERROR", "ERROR"},
		{"a level that changes", &changed, slog.LevelError + 1, "INFO WARN ERROR", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			process, ctx := newManual()
			var passed []string
			h := marks.NewHandler(levels{min: c.next, got: &passed}, c.level)
			changed.Set(slog.LevelInfo)
			for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				marked, toNext := strings.Contains(c.marked, level.String()), strings.Contains(c.passed, level.String())
				if got := h.Enabled(ctx, level); got != (marked || toNext) {
					t.Errorf("Enabled(%v) = %v", level, got)
				}
				var r slog.Record
				r.Level, r.Message = level, level.String()
				if err := h.Handle(ctx, r); errors.Is(err, errFull) != toNext {
					t.Errorf("%v: error %v, want next's if it was called: %v", level, err, toNext)
				}
			}
			if got := strings.Join(names(process.Entries()), " "); got != c.marked {
				t.Errorf("marked %q, want %q", got, c.marked)
			}
			if got := strings.Join(passed, " "); got != c.passed {
				t.Errorf("passed on %q, want %q", got, c.passed)
			}
		})
	}
}

func TestHandlerMarksTheContextsTimeline(t *testing.T) {
	process, ctx := newManual()
	request := process.NewChild()
	byDefault, err := observer.ProcessTimeline().Observe(func(observer.List) {}, observer.Options{Type: observer.Mark})
	if err != nil {
		t.Fatal(err)
	}
	defer byDefault.Disconnect()
	log := slog.New(marks.NewHandler(nil, nil))
	process.now = 7
	log.WarnContext(observer.NewContext(ctx, request), "of the request")
	log.WarnContext(ctx, "of the process")
	log.Warn("of the default timeline")
	for _, c := range []struct {
		want string
		got  []observer.Entry
	}{
		{"of the request", request.Entries()},
		{"of the process", process.Entries()},
		{"of the default timeline", byDefault.TakeRecords()},
	} {
		if got := names(c.got); !slices.Equal(got, []string{c.want}) {
			t.Errorf("marks %q, want %q", got, c.want)
		}
	}
	if at := process.Entries()[0].StartTime(); at != 7 {
		t.Errorf("a mark made at 7 is at %d", at)
	}
	var absent context.Context
	if err := marks.NewHandler(nil, nil).Handle(absent, slog.Record{Level: slog.LevelWarn}); err != nil {
		t.Errorf("a nil context: %v", err)
	}
}

// Where nothing wants the mark its values are left alone.
func TestHandlerUnwanted(t *testing.T) {
	process, ctx := newManual()
	ctx = unrecorded(ctx)
	slog.New(marks.NewHandler(nil, nil)).WarnContext(ctx, "m", "err", untold{t})
	if got := process.Entries(); len(got) != 0 {
		t.Errorf("recorded %v", got)
	}
}

// next gets the record it would have got: nothing resolved, nothing added.
func TestHandlerLeavesTheRecordAlone(t *testing.T) {
	_, ctx := newManual()
	got := map[string]any{}
	next := recordTo{func(r slog.Record) {
		r.Attrs(func(a slog.Attr) bool {
			got[a.Key] = a.Value.Any()
			return true
		})
	}}
	err, asked := errors.New("refused"), counting(0)
	slog.New(marks.NewHandler(next, nil)).WarnContext(ctx, "m", "err", err, "asked", &asked)
	if want := map[string]any{"err": err, "asked": &asked}; !maps.Equal(got, want) {
		t.Errorf("next got %v, want %v", got, want)
	}
}

type recordTo struct{ f func(slog.Record) }

func (recordTo) Enabled(context.Context, slog.Level) bool { return true }
func (h recordTo) Handle(_ context.Context, r slog.Record) error {
	h.f(r)
	return nil
}
func (h recordTo) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h recordTo) WithGroup(string) slog.Handler      { return h }
