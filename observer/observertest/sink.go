package observertest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
)

// A Sink is something that carries a timeline's entries elsewhere, through an
// [observer.Observer] or an [observer.Tracer], as a test sees it.
type Sink struct {
	// Context is what the entries are recorded under; it carries whatever the
	// sink needs to accept them, an active span say. A rule records up to 800 marks
	// and as many measures under it: lift limits such as that of events for each
	// span. nil: an empty context.
	Context context.Context //nolint:containedctx // what a test says entries are recorded under

	// Received waits until all that was recorded has arrived and returns it. Of
	// each goroutine's entries of one type those that started earlier must come
	// first. It is called once for each sink.
	Received func() []Record

	// Resolution is how fine the times are at the other end. 0: nanoseconds.
	Resolution time.Duration

	// Unsigned durations: a measure whose end lies before its start arrives as
	// the same interval the other way round.
	Unsigned bool
}

// A Record is an entry as it arrived.
type Record struct {
	Type     observer.Type
	Name     string
	Start    time.Time
	Duration time.Duration
	Attrs    []slog.Attr // groups nested, or their keys joined with dots
}

// TestSink checks that a sink does what a timeline's user relies on. For each
// rule it makes a timeline and calls open to tie the sink to it.
//
//   - Every mark and every measure arrives, once, with its name, start and
//     duration, whether it was recorded on the process's timeline or on a
//     request's, also one that was closed meanwhile.
//   - Entries of one type recorded by one goroutine, one after the other, arrive
//     in their order, from however many goroutines others come.
//   - Attributes arrive: booleans, numbers and strings with their values or the
//     text of these, durations and times in whatever form the other end has for
//     them, members of groups, and what a [slog.LogValuer] resolves to.
//   - A value whose methods panic costs itself at most, not its entry and not
//     the next one.
//   - An empty name, a name that is not UTF-8 and a measure of negative duration
//     do not stop anything.
func TestSink(t *testing.T, open func(t *testing.T, tl *observer.Timeline) Sink) {
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) { runRule(t, t, rule.check, open) })
	}
}

var rules = []struct {
	name  string
	check func(*sinkTest)
}{
	{"marks and measures arrive as they are", (*sinkTest).arrive},
	{"requests", (*sinkTest).requests},
	{"order and many goroutines", (*sinkTest).goroutines},
	{"attributes", (*sinkTest).attributes},
	{"values that panic", (*sinkTest).panics},
	{"odd names and durations", (*sinkTest).odd},
}

func runRule(t *testing.T, to reporter, check func(*sinkTest), open func(*testing.T, *observer.Timeline) Sink) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	st := &sinkTest{reporter: to, tl: tl, sink: open(t, tl)}
	if st.sink.Context == nil {
		st.sink.Context = context.Background()
	}
	check(st)
}

// A reporter is told what is wrong: a *testing.T, but for the tests of this package.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

type sinkTest struct {
	reporter
	tl   *observer.Timeline
	sink Sink
}

// record records an entry that is over now.
func (t *sinkTest) record(tl *observer.Timeline, typ observer.Type, name string, d time.Duration, attrs ...slog.Attr) {
	t.Helper()
	e, err := tl.NewEntry(typ, name, tl.Now()-d, d, attrs...)
	if err != nil || !tl.Queue(observer.NewContext(t.sink.Context, tl), e) {
		t.Errorf("the timeline did not take %s %q: %v", typ, name, err)
	}
}

func (t *sinkTest) arrive() {
	const n = 100
	want := map[string]Record{}
	request := t.tl.NewChild()
	for i := range n {
		tl := t.tl
		if i%2 == 1 {
			tl = request
		}
		m := Record{Type: observer.Mark, Name: fmt.Sprint("mark ", i)}
		s := Record{Type: observer.Measure, Name: fmt.Sprint("measure ", i), Duration: time.Duration(i) * time.Millisecond}
		for _, r := range []Record{m, s} {
			e, err := tl.NewEntry(r.Type, r.Name, tl.Now(), r.Duration)
			if err != nil {
				t.Fatalf("%v", err)
			}
			r.Start = e.Time()
			want[r.Name] = r
			if !tl.Queue(observer.NewContext(t.sink.Context, tl), e) {
				t.Errorf("the timeline did not take %q", r.Name)
			}
		}
	}
	request.Close()
	var wrong few
	for _, r := range t.sink.Received() {
		w, ok := want[r.Name]
		if !ok {
			wrong.add("%s %q arrived though it was not recorded, or arrived twice", r.Type, r.Name)
			continue
		}
		delete(want, r.Name)
		if r.Type != w.Type || !t.near(r.Start.Sub(w.Start)) || !t.near(r.Duration-w.Duration) {
			wrong.add("%q arrived as %s at %v for %v, want %s at %v for %v", r.Name, r.Type, r.Start, r.Duration, w.Type, w.Start, w.Duration)
		}
	}
	for name := range want {
		wrong.add("%q did not arrive", name)
	}
	wrong.report(t)
}

// few are complaints of one kind, of which the first are told and the rest counted.
type few []string

func (f *few) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f *few) report(t *sinkTest) {
	const told = 5
	t.Helper()
	for i, text := range *f {
		if i == told {
			t.Errorf("and %d more", len(*f)-told)
			return
		}
		t.Errorf("%s", text)
	}
}

func (t *sinkTest) near(d time.Duration) bool { return d.Abs() <= t.sink.Resolution }

// names are those of the marks received, in their order.
func names(received []Record) []string {
	var names []string
	for _, r := range received {
		if r.Type == observer.Mark {
			names = append(names, r.Name)
		}
	}
	return names
}

func (t *sinkTest) requests() {
	request := t.tl.NewChild()
	t.record(request, observer.Mark, "during", 0)
	t.record(request.NewChild(), observer.Mark, "in a part of it", 0)
	request.Close()
	t.record(request, observer.Mark, "after", 0)
	t.record(t.tl, observer.Mark, "process", 0)
	got := names(t.sink.Received())
	slices.Sort(got)
	if want := []string{"after", "during", "in a part of it", "process"}; !slices.Equal(got, want) {
		t.Errorf("marks %q arrived, want %q", got, want)
	}
}

func (t *sinkTest) goroutines() {
	const goroutines, each = 8, 100
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			tl := t.tl
			if g%2 == 1 {
				tl = tl.NewChild()
				defer tl.Close()
			}
			for i := range each {
				t.record(tl, observer.Mark, fmt.Sprintf("%d %03d", g, i), 0)
				t.record(tl, observer.Measure, fmt.Sprintf("%d %03d", g, i), time.Microsecond)
			}
		})
	}
	wg.Wait()
	received := t.sink.Received()
	var wrong few
	for _, typ := range []observer.Type{observer.Mark, observer.Measure} {
		next := make([]int, goroutines)
		for _, r := range received {
			var g, i int
			if r.Type != typ {
				continue
			}
			if _, err := fmt.Sscanf(r.Name, "%d %d", &g, &i); err != nil || g >= goroutines {
				wrong.add("%s %q arrived though it was not recorded", typ, r.Name)
				continue
			}
			if i != next[g] {
				wrong.add("of goroutine %d %s %d arrived, want %d: lost, doubled or out of order", g, typ, i, next[g])
			}
			next[g] = i + 1
		}
		for g, n := range next {
			if n != each {
				wrong.add("of goroutine %d %d of %d arrived (%s)", g, n, each, typ)
			}
		}
	}
	wrong.report(t)
}

// valued is a LogValuer.
type valued struct{}

func (valued) LogValue() slog.Value { return slog.StringValue("resolved") }

func (t *sinkTest) attributes() {
	attrs := []slog.Attr{
		slog.String("string", "s"), slog.Int("int", -7), slog.Uint64("uint", 7), slog.Float64("float", 1.5), slog.Bool("bool", true),
		slog.Group("group", slog.Int("a", 1), slog.Group("inner", slog.String("b", "2"))), slog.Any("valuer", valued{}),
		slog.Duration("duration", time.Second), slog.Time("time", time.Unix(1, 0)), slog.Any("any", []string{"x"}),
	}
	want := map[string]string{
		"string": "s", "int": "-7", "uint": "7", "float": "1.5", "bool": "true", "group.a": "1", "group.inner.b": "2",
		"valuer": "resolved", "duration": "", "time": "", "any": "", // "": in whatever form
	}
	for _, typ := range []observer.Type{observer.Mark, observer.Measure} {
		t.record(t.tl, typ, string(typ), 0, attrs...)
	}
	received := t.sink.Received()
	if len(received) != 2 {
		t.Errorf("%d entries arrived, want 2", len(received))
	}
	for _, r := range received {
		got := map[string]string{}
		flatten(got, "", r.Attrs)
		for key, w := range want {
			if g, ok := got[key]; !ok || (w != "" && g != w) {
				t.Errorf("%s: attribute %s is %q (there: %v), want %q", r.Type, key, g, ok, w)
			}
		}
	}
}

func flatten(to map[string]string, prefix string, attrs []slog.Attr) {
	for _, a := range attrs {
		key := strings.TrimPrefix(prefix+"."+a.Key, ".")
		switch a.Value.Kind() {
		case slog.KindGroup:
			flatten(to, key, a.Value.Group())
		case slog.KindLogValuer:
			to[key] = "not resolved"
		default:
			to[key] = a.Value.String()
		}
	}
}

// panicking panics in whatever a sink may call.
type panicking struct{}

func (panicking) String() string               { panic("String") }
func (panicking) Error() string                { panic("Error") }
func (panicking) MarshalJSON() ([]byte, error) { panic("MarshalJSON") }
func (panicking) MarshalText() ([]byte, error) { panic("MarshalText") }

type panickingValuer struct{}

func (panickingValuer) LogValue() slog.Value { panic("LogValue") }

func (t *sinkTest) panics() {
	t.record(t.tl, observer.Mark, "odd", 0, slog.Any("odd", panicking{}), slog.Any("odder", panickingValuer{}), slog.Int("n", 1))
	t.record(t.tl, observer.Mark, "next", 0)
	received := t.sink.Received()
	if got := names(received); !slices.Equal(got, []string{"odd", "next"}) {
		t.Errorf("marks %q arrived, want both", got)
		return
	}
	beside := ""
	for _, a := range received[0].Attrs {
		if a.Key == "n" {
			beside = a.Value.String()
		}
	}
	if beside != "1" {
		t.Errorf("the attribute beside those that panic is %q, want 1", beside)
	}
}

func (t *sinkTest) odd() {
	t.record(t.tl, observer.Mark, "", 0)
	t.record(t.tl, observer.Mark, "\xff\x00", 0)
	t.record(t.tl, observer.Measure, "backwards", -time.Millisecond)
	t.record(t.tl, observer.Mark, "next", 0)
	received := t.sink.Received()
	if len(received) != 4 {
		t.Errorf("%d entries arrived, want 4: %v", len(received), received)
	}
	if got := names(received); len(got) != 3 || got[0] != "" || got[2] != "next" {
		t.Errorf("marks %q arrived, want one without a name, one that is not UTF-8 in whatever form, and \"next\"", got)
	}
	for _, r := range received {
		if r.Name != "backwards" || r.Type != observer.Measure {
			continue
		}
		if d := r.Duration; !t.near(d+time.Millisecond) && (!t.sink.Unsigned || !t.near(d-time.Millisecond)) {
			t.Errorf("a measure of -1ms arrived with %v", d)
		}
		return
	}
	t.Errorf("the measure of -1ms did not arrive")
}
