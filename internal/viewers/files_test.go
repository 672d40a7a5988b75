package viewers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/viewers"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// A firefoxFile is what the tests read of one. Perfetto takes no null in a column of times, which a pointer
// would hide.
type firefoxFile struct {
	Threads []struct {
		Name, PID string
		TID       int
		Markers   struct {
			Name, Phase, Category []int
			StartTime, EndTime    []json.Number
			Data                  []map[string]any
			Length                int
		}
		Samples struct {
			Stack          []int
			Time, Weight   []json.Number
			ThreadCPUDelta []int64
			Length         int
		}
	}
	Shared struct {
		StackTable struct {
			Prefix []*int
			Frame  []int
			Length int
		}
		FrameTable struct {
			Func, Category []int
			Line           []*int
			Length         int
		}
		FuncTable struct {
			Name   []int
			Source []*int
			Length int
		}
		Sources struct {
			Filename []int
			Length   int
		}
		StringArray []string
	}
	Meta struct {
		Categories   []any
		MarkerSchema []struct {
			Name   string
			Fields []struct{ Key, Format string }
		}
		ProfilingStartTime, ProfilingEndTime float64
		InitialVisibleThreads                []int
	}
}

// The bounds that the documentation of WriteFirefox has.
const (
	maxText   = 1000 // bytes of a text from outside
	maxFields = 100  // keys that a type of event shows
)

// checkFirefox reads a file as the Firefox Profiler and Perfetto do, and compares it with its session.
func checkFirefox(file []byte, s viewers.Recorded) error {
	if !bytes.HasPrefix(file, []byte(`{"libs"`)) {
		return fmt.Errorf("it begins with %.20q: Perfetto would not know what it is", file)
	}
	var f firefoxFile
	if err := json.Unmarshal(file, &f); err != nil || !utf8.Valid(file) {
		return fmt.Errorf("it is not JSON in UTF-8: %w", err)
	}
	known := func(what string, length int, all ...[]int) error {
		for _, list := range all {
			for _, i := range list {
				if i < 0 || i >= length {
					return fmt.Errorf("index %d of %s: there are %d", i, what, length)
				}
			}
		}
		return nil
	}
	shared := &f.Shared
	for _, err := range []error{
		known("texts", len(shared.StringArray), shared.FuncTable.Name, shared.Sources.Filename),
		known("functions", shared.FuncTable.Length, shared.FrameTable.Func),
		known("frames", shared.FrameTable.Length, shared.StackTable.Frame),
		known("categories", len(f.Meta.Categories), shared.FrameTable.Category),
		known("threads", len(f.Threads), f.Meta.InitialVisibleThreads),
	} {
		if err != nil {
			return err
		}
	}
	for i, p := range shared.StackTable.Prefix {
		if p != nil && (*p < 0 || *p >= i) {
			return fmt.Errorf("stack %d is called by %d, which must stand before it", i, *p)
		}
	}
	for _, entry := range shared.StringArray {
		if utf8.RuneCountInString(entry) > maxText { // a byte that is not UTF-8 becomes one character
			return fmt.Errorf("a text has %d bytes", len(entry))
		}
	}
	timelines := s.Timelines()
	if len(f.Threads) != len(timelines) {
		return fmt.Errorf("%d threads of %d timelines", len(f.Threads), len(timelines))
	}
	for i, th := range f.Threads {
		m, samples, events := th.Markers, th.Samples, []sessions.Event{}
		for e := range s.All(timelines[i].ID) {
			if e.Type != sessions.Samples {
				events = append(events, e)
			}
		}
		for _, n := range []int{len(m.Name), len(m.Phase), len(m.Category), len(m.StartTime), len(m.EndTime), len(m.Data), m.Length} {
			if n != len(events) {
				return fmt.Errorf("thread %d has a column of %d markers, want %d", i, n, len(events))
			}
		}
		if err := known("texts", len(shared.StringArray), m.Name); err != nil {
			return err
		}
		if err := known("categories", len(f.Meta.Categories), m.Category); err != nil {
			return err
		}
		for k, e := range events {
			if got, want := shared.StringArray[m.Name[k]], string([]rune(text.Cut(e.Name, maxText))); got != want { // invalid UTF-8 becomes U+FFFD
				return fmt.Errorf("thread %d, marker %d is called %q, want %q", i, k, got, want)
			}
			start, err1 := m.StartTime[k].Float64()
			end, err2 := m.EndTime[k].Float64()
			if err1 != nil || err2 != nil || start < 0 {
				return fmt.Errorf("thread %d, marker %d: times %q to %q must be numbers and not negative", i, k, m.StartTime[k], m.EndTime[k])
			}
			began := time.Duration(math.Round((start - f.Meta.ProfilingStartTime) * 1e6))
			if took := time.Duration(math.Round((end - start) * 1e6)); began != e.Interval.Start || took != e.Interval.End-e.Interval.Start {
				return fmt.Errorf("thread %d, marker %d is at %v for %v, want %+v", i, k, began, took, e.Interval)
			}
		}
		taken := slices.Collect(s.Samples(timelines[i].ID))
		for _, n := range []int{len(samples.Stack), len(samples.Time), len(samples.Weight), samples.Length} {
			if n != len(taken) {
				return fmt.Errorf("thread %d has a column of %d samples, want %d", i, n, len(taken))
			}
		}
		if err := known("stacks", shared.StackTable.Length, samples.Stack); err != nil {
			return err
		}
		for k, sample := range taken {
			at, err := samples.Time[k].Float64()
			if err != nil {
				return fmt.Errorf("thread %d, sample %d: %w", i, k, err)
			}
			if at < 0 || math.Abs((at-f.Meta.ProfilingStartTime)*1e6-float64(s.Since(sample))) > 1 {
				return fmt.Errorf("thread %d, sample %d is at %v ms, want %v, and not negative", i, k, at, s.Since(sample))
			}
		}
	}
	return nil
}

// A speedscopeFile is what the tests read of one.
type speedscopeFile struct {
	Shared   struct{ Frames []struct{ Name *string } }
	Profiles []struct {
		Type, Name           string
		StartValue, EndValue int64
		Events               []struct {
			Type  string
			At    int64
			Frame int
		}
		Samples [][]int
		Weights []int64
	}
}

// checkSpeedscope reads a file as speedscope does: frames open and close properly nested, in the order of time. It returns how many
// events have a frame, and how long frames were open, all together.
func checkSpeedscope(text []byte) (opened int, open time.Duration, err error) {
	var f speedscopeFile
	if err := json.Unmarshal(text, &f); err != nil || !utf8.Valid(text) {
		return 0, 0, fmt.Errorf("it is not JSON in UTF-8: %w", err)
	}
	if len(f.Profiles) == 0 {
		return 0, 0, fmt.Errorf("there is no profile, over which speedscope fails")
	}
	for i, fr := range f.Shared.Frames {
		if fr.Name == nil {
			return 0, 0, fmt.Errorf("frame %d has no name", i)
		}
	}
	for i, p := range f.Profiles {
		stack, at := []int{}, p.StartValue
		for k, e := range p.Events {
			if e.At < at || e.At > p.EndValue || e.Frame < 0 || e.Frame >= len(f.Shared.Frames) {
				return 0, 0, fmt.Errorf("profile %d, event %d is at %d of frame %d, after one at %d, in %d frames until %d", i, k, e.At, e.Frame, at, len(f.Shared.Frames), p.EndValue)
			}
			open += time.Duration(len(stack)) * time.Duration(e.At-at)
			at = e.At
			if e.Type == "O" {
				stack = append(stack, e.Frame)
				opened++
				continue
			}
			if len(stack) == 0 || stack[len(stack)-1] != e.Frame {
				return 0, 0, fmt.Errorf("profile %d, event %d closes frame %d; open are %d", i, k, e.Frame, stack)
			}
			stack = stack[:len(stack)-1]
		}
		if len(stack) > 0 {
			return 0, 0, fmt.Errorf("profile %d leaves %d open", i, stack)
		}
		if len(p.Samples) != len(p.Weights) {
			return 0, 0, fmt.Errorf("profile %d has %d samples and %d weights", i, len(p.Samples), len(p.Weights))
		}
	}
	return opened, open, nil
}

// Texts that come from anywhere.
var anyText = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\x00\x1b[31m", "\xff\xfe", "\u202eevil", "</script>", `"\`, "\u2028", "type", "__proto__",
	strings.Repeat("long ", 20_000), strings.Repeat("é", 600), strings.Repeat("\x80", 2000)}))

var anyAttr = rapid.Custom(func(t *rapid.T) slog.Attr {
	key := anyText.Draw(t, "key")
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return slog.Int64(key, rapid.Int64().Draw(t, "value"))
	case 1:
		return slog.Uint64(key, rapid.Uint64().Draw(t, "value"))
	case 2:
		return slog.Float64(key, rapid.SampledFrom([]float64{0, -1.5, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(t, "value"))
	case 3:
		return slog.Duration(key, time.Duration(rapid.Int64().Draw(t, "value")))
	case 4:
		return slog.Any(key, []string{anyText.Draw(t, "value")})
	case 5:
		return slog.Group(key, slog.String(anyText.Draw(t, "member"), "x"), slog.Bool("yes", true))
	case 6:
		return slog.Time(key, base)
	default:
		return slog.String(key, anyText.Draw(t, "value"))
	}
})

// anySession draws a session of a few timelines. Its events are properly nested, unless it is wild.
func anySession(t *rapid.T, wild bool) *handMade {
	h := aSession()
	h.trace.Started = time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "started")) // samples may begin before the session
	h.timelines, h.events, h.samples = nil, map[sessions.TimelineID][]sessions.Event{}, map[sessions.TimelineID][]profile.Sample{}
	if rapid.Bool().Draw(t, "without samples") {
		h.trace = nil
	}
	frame := uint32(0)
	for id := range sessions.TimelineID(rapid.IntRange(0, 4).Draw(t, "timelines")) {
		tl := sessions.Timeline{ID: id + 1, Name: anyText.Draw(t, "timeline")}
		if frame == 0 || rapid.Bool().Draw(t, "new frame") {
			frame++
		} else {
			tl.Lane = h.timelines[id-1].Lane + 1
		}
		tl.FrameID = frame
		var add func(parent sessions.EventID, from, to time.Duration, depth int)
		add = func(parent sessions.EventID, from, to time.Duration, depth int) {
			for range rapid.IntRange(0, 4).Draw(t, "children") {
				start := from + time.Duration(rapid.Int64Range(0, int64(to-from)).Draw(t, "start"))
				e := sessions.Event{
					ID: sessions.EventID(len(h.events[tl.ID]) + 1), ParentID: parent, Name: anyText.Draw(t, "name"), Hits: 1,
					Type:   sessions.EventType(rapid.IntRange(int(sessions.Request), int(sessions.Samples)).Draw(t, "type")),
					Detail: rapid.SliceOfN(anyAttr, 0, 3).Draw(t, "detail"),
				}
				e.Interval = interval(start, start)
				if e.Type != sessions.Mark && e.Type != sessions.Server {
					e.Interval.End += time.Duration(rapid.Int64Range(0, int64(to-start)).Draw(t, "length"))
				}
				if wild {
					e.Interval.Start += time.Duration(rapid.Int64Range(-1e9, 1e9).Draw(t, "shift"))
				}
				from = e.Interval.End
				h.events[tl.ID] = append(h.events[tl.ID], e)
				if depth < 4 {
					add(e.ID, e.Interval.Start, max(e.Interval.Start, e.Interval.End), depth+1)
				}
				if from > to {
					return
				}
			}
		}
		add(0, -time.Second, time.Second, 0)
		for i, e := range h.events[tl.ID] {
			if i == 0 {
				tl.Interval = e.Interval
			}
			tl.Interval = interval(min(tl.Interval.Start, e.Interval.Start), max(tl.Interval.End, e.Interval.End))
		}
		if h.trace != nil {
			h.samples[tl.ID] = h.trace.Samples[:rapid.IntRange(0, len(h.trace.Samples)).Draw(t, "samples")]
		}
		h.timelines = append(h.timelines, tl)
	}
	return h
}

func TestFilesOfAnySession(t *testing.T) {
	for _, wild := range []bool{false, true} {
		t.Run(fmt.Sprintf("wild=%t", wild), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				h := anySession(t, wild)
				var b, again bytes.Buffer
				if err := viewers.WriteRecordedFirefox(&b, h); err != nil {
					t.Fatal(err)
				}
				if err := checkFirefox(b.Bytes(), h); err != nil {
					t.Fatalf("firefox: %v\n%.3000s", err, b.Bytes())
				}
				if err := viewers.WriteRecordedFirefox(&again, h); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
					t.Fatalf("the same session makes another file (%v)", err)
				}
				b.Reset()
				if err := viewers.WriteRecordedSpeedscope(&b, h); err != nil {
					t.Fatal(err)
				}
				opened, open, err := checkSpeedscope(b.Bytes())
				if err != nil {
					t.Fatalf("speedscope: %v\n%.3000s", err, b.Bytes())
				}
				if wild {
					return
				}
				var want int
				var took time.Duration
				for _, e := range slices.Concat(h.events[1], h.events[2], h.events[3], h.events[4]) {
					if d := e.Interval.End - e.Interval.Start; d > 0 {
						want, took = want+1, took+d
					}
				}
				if opened != want || open != took {
					t.Errorf("speedscope has %d events that take %v, want %d that take %v", opened, open, want, took)
				}
			})
		})
	}
}

// A type of event shows its first keys; what else its details have is in the file all the same.
func TestFirefoxFields(t *testing.T) {
	h := aSession()
	for i := range 2 * maxFields {
		h.events[4] = append(h.events[4], sessions.Event{Type: sessions.Measure, Name: "m", Detail: []slog.Attr{slog.Int(fmt.Sprint("key", i), i)}})
	}
	f := readFirefox(t, h)
	for _, s := range f.Meta.MarkerSchema {
		if s.Name == "Measure" && len(s.Fields) != 4+maxFields {
			t.Errorf("%d fields are shown, want %d and 4 of all events", len(s.Fields), maxFields)
		}
	}
	last := f.Threads[3].Markers.Data[2*maxFields]
	if last["key199"] != 199.0 {
		t.Errorf("the last event has %v, want its detail", last)
	}
}

// readFirefox returns the file of a session.
func readFirefox(t *testing.T, s viewers.Recorded) (f firefoxFile) {
	t.Helper()
	var b bytes.Buffer
	if err := viewers.WriteRecordedFirefox(&b, s); err != nil {
		t.Fatal(err)
	}
	if err := checkFirefox(b.Bytes(), s); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// The names of a file are the names of the events, in UTF-8 and cut between two characters.
func TestFirefoxTexts(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":              {"GET /products/{id}", "GET /products/{id}"},
		"quotes":             {`a"b\c`, `a"b\c`},
		"control":            {"a\x00\x1b\n", "a\x00\x1b\n"},
		"not UTF-8":          {"a\xff", "a\ufffd"},
		"right to left":      {"\u202eabc", "\u202eabc"},
		"as long as may be":  {strings.Repeat("a", maxText), strings.Repeat("a", maxText)},
		"long":               {strings.Repeat("a", 100_000), strings.Repeat("a", maxText-3) + "…"},
		"within a character": {strings.Repeat("a", maxText-4) + "éé" + "bb", strings.Repeat("a", maxText-4) + "…"},
		"DEL and C1":         {"\x7f\u0085", "\x7f\u0085"},
		"line separators":    {"\u2028", "\u2028"},
	} {
		h := aSession()
		h.events[1][0].Name = c.text
		f := readFirefox(t, h)
		if got := f.Shared.StringArray[f.Threads[0].Markers.Name[0]]; got != c.want {
			t.Errorf("%s: %.40q becomes %.40q, want %.40q", name, c.text, got, c.want)
		}
	}
}

// A sample's stack has its calls. The innermost has the sample's category, and its callers have Go's.
func TestFirefoxStacks(t *testing.T) {
	h := aSession()
	first := h.timelines[0].ID
	h.samples = map[sessions.TimelineID][]profile.Sample{first: h.trace.Samples}
	f := readFirefox(t, h)
	shared := &f.Shared
	for i, want := range [][]string{{"main.main 1"}, {"main.main 1", "main.render 1"}, {"main.main 1", "main.render 2"},
		{"main.main 1", "main.render 1", "runtime.gopark 4"}, {"cgo 0"}, {"[no stack] 3"}} {
		var got []string
		for at := &f.Threads[0].Samples.Stack[i]; at != nil; at = shared.StackTable.Prefix[*at] {
			frame := shared.StackTable.Frame[*at]
			function := shared.StringArray[shared.FuncTable.Name[shared.FrameTable.Func[frame]]]
			got = append(got, fmt.Sprint(function, " ", shared.FrameTable.Category[frame]))
		}
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Errorf("sample %d has stack %q, want %q", i, got, want)
		}
	}
}

func FuzzFiles(f *testing.F) {
	f.Add("name", "key", "value")
	f.Add("\xff\x00\u202e", "type", strings.Repeat("long\x80", 1000))
	f.Fuzz(func(t *testing.T, name, key, value string) {
		h := aSession()
		h.timelines[0].Name, h.trace.Frames[0].Name, h.trace.Resources[0] = name, name, value
		e := &h.events[1][0]
		e.Name, e.Detail = name, []slog.Attr{slog.String(key, value), slog.Group(key, slog.Int(name, 1)), slog.Any(name, value)}
		for i := range h.timelines {
			h.timelines[i].Events = len(h.events[h.timelines[i].ID])
		}
		var b bytes.Buffer
		if err := viewers.WriteRecordedFirefox(&b, h); err != nil {
			t.Fatal(err)
		}
		if err := checkFirefox(b.Bytes(), h); err != nil {
			t.Error(err)
		}
		b.Reset()
		if err := viewers.WriteRecordedSpeedscope(&b, h); err != nil {
			t.Fatal(err)
		}
		if _, _, err := checkSpeedscope(b.Bytes()); err != nil {
			t.Error(err)
		}
	})
}
