package sessions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// A shot is a sample as a test makes it up: "f" at some time, under a span of a trace.
type shot struct {
	at          time.Duration
	doing       string
	trace, span byte
}

// traceOf is a trace of shots, at an interval of 10 ms.
func (p *tape) traceOf(shots ...shot) *profile.Trace {
	const before = time.Minute // the trace's origin is not the session's
	tr := &profile.Trace{Interval: 10 * ms, Origin: p.Origin().Add(p.zero - before)}
	for _, s := range shots {
		f := slices.IndexFunc(tr.Frames, func(f profile.Frame) bool { return f.Name == s.doing })
		if f < 0 {
			f = len(tr.Frames)
			tr.Frames = append(tr.Frames, profile.Frame{Name: s.doing, ResourceID: profile.None})
			tr.Stacks = append(tr.Stacks, profile.Stack{FrameID: f, ParentID: profile.None})
		}
		sample := profile.Sample{Timestamp: before + s.at, StackID: f, ContextID: profile.None, Count: 1, Weight: 10 * ms}
		if s.trace != 0 {
			sc := spanContext(s.trace, s.span)
			sample.ContextID = len(tr.Contexts)
			tr.Contexts = append(tr.Contexts, profile.SampleContext{TraceID: sc.TraceID(), SpanID: sc.SpanID(), SpanName: "GET /running"})
		}
		tr.Samples = append(tr.Samples, sample)
	}
	return tr
}

// drawSamples is draw, with the samples and the own time of each group.
func drawSamples(s *sessions.Session) (lines []string) {
	for _, tl := range s.Timelines() {
		depth := map[sessions.EventID]int{}
		lines = append(lines, tl.Title())
		for e := range s.All(tl.ID) {
			depth[e.ID] = depth[e.ParentID] + 1
			line := fmt.Sprintf("%s%s %v-%v", strings.Repeat(" ", depth[e.ID]), e.Name, e.Interval.Start, e.Interval.End)
			if e.Type == sessions.Samples {
				line += fmt.Sprintf(" %v×%v", e.Detail[0].Value, e.Time)
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestSampleGroups(t *testing.T) {
	for _, c := range []struct {
		name   string
		record func(p *tape)
		shots  []shot
		want   []string
	}{
		{"consecutive ones of a function", func(p *tape) { p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{10 * ms, "f", 1, 1}, {20 * ms, "f", 1, 1}, {30 * ms, "g", 1, 1}, {40 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 0s-20ms 2×20ms", "  g 20ms-30ms 1×10ms", "  f 30ms-40ms 1×10ms"}},
		{"a sample stands for one interval at most", func(p *tape) { p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{20 * ms, "f", 1, 1}, {90 * ms, "f", 1, 1}, {93 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 10ms-93ms 3×23ms"}},
		{"and for nothing before its event", func(p *tape) { p.in("a", 6*ms, 100*ms, 1, 0) },
			[]shot{{10 * ms, "f", 1, 1}},
			[]string{"process", " a 6ms-100ms", "  f 6ms-10ms 1×4ms"}},
		{"nor before the session", func(p *tape) { p.in("a", -50*ms, 100*ms, 1, 0) },
			[]shot{{4 * ms, "f", 1, 1}},
			[]string{"process", " a -50ms-100ms", "  f 0s-4ms 1×4ms"}},
		{"split by a child", func(p *tape) { p.in("b", 12*ms, 18*ms, 2, 1); p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{10 * ms, "f", 1, 1}, {20 * ms, "f", 1, 1}, {30 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 0s-10ms 1×10ms", "  b 12ms-18ms", "  f 18ms-30ms 2×12ms"}},
		{"split by a child that has samples", func(p *tape) { p.in("b", 12*ms, 18*ms, 2, 1); p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{10 * ms, "f", 1, 1}, {15 * ms, "f", 1, 2}, {17 * ms, "f", 1, 2}, {20 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 0s-10ms 1×10ms", "  b 12ms-18ms", "   f 12ms-17ms 2×5ms", "  f 18ms-20ms 1×2ms"}},
		{"a measure without a span has its span's samples", func(p *tape) { p.in("b", 12*ms, 18*ms, 0, 1); p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{15 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-100ms", "  b 12ms-18ms", "   f 12ms-15ms 1×3ms"}},
		{"not split by a mark", func(p *tape) {
			p.add(nil, of{1, 0, 1}, observer.Mark, "m", 15*ms, 15*ms)
			p.in("a", 0, 100*ms, 1, 0)
		}, []shot{{10 * ms, "f", 1, 1}, {20 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 0s-20ms 2×20ms", "  m 15ms-15ms"}},
		{"of the outer span while an inner one is open", func(p *tape) { p.in("b", 12*ms, 40*ms, 2, 1); p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{20 * ms, "f", 1, 1}, {25 * ms, "f", 1, 2}, {30 * ms, "f", 1, 1}, {45 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 10ms-12ms 2×2ms", "  b 12ms-40ms", "   f 15ms-25ms 1×10ms", "  f 40ms-45ms 1×5ms"}},
		{"at the end of its event", func(p *tape) { p.in("b", 10*ms, 20*ms, 2, 1); p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{20 * ms, "f", 1, 2}},
			[]string{"process", " a 0s-100ms", "  b 10ms-20ms", "   f 10ms-20ms 1×10ms"}},
		{"of a span after its end", func(p *tape) { p.in("a", 0, 10*ms, 1, 0); p.in("b", 20*ms, 30*ms, 2, 0) },
			[]shot{{15 * ms, "f", 1, 1}, {25 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-10ms", " f 10ms-15ms 1×5ms", " f 15ms-20ms 1×5ms", " b 20ms-30ms"}},
		{"of an unknown span of a request", func(p *tape) { p.add(p.NewChild(), of{2, 1, 0}, observer.Navigation, "/x", 0, 100*ms) },
			[]shot{{15 * ms, "f", 2, 9}},
			[]string{"/x", " f 0s-0s 1×0s", " /x 0s-100ms"}},
		{"of an unknown span of the last of two requests, and of the first", func(p *tape) {
			first, second := p.NewChild(), p.NewChild()
			p.add(second, of{2, 2, 9}, observer.Navigation, "/second", 20*ms, 50*ms)
			p.Deliver()
			p.add(first, of{2, 1, 0}, observer.Navigation, "/first", 0, 100*ms)
		}, []shot{{15 * ms, "f", 2, 7}, {30 * ms, "g", 2, 8}, {60 * ms, "f", 2, 7}},
			[]string{"/first", " f 0s-0s 2×0s", " /first 0s-100ms", "/second", " g 20ms-20ms 1×0s", " /second 20ms-50ms"}},
		{"of a request that has not ended", func(p *tape) { p.in("a", 0, 10*ms, 1, 0) },
			[]shot{{15 * ms, "f", 3, 9}, {20 * ms, "f", 3, 8}},
			[]string{"process", " a 0s-10ms", "GET /running", " f 5ms-20ms 2×15ms"}},
		{"of a span that has not ended, but something in it", func(p *tape) { p.add(p.NewChild(), of{2, 2, 1}, observer.Measure, "q", 5*ms, 10*ms) },
			[]shot{{20 * ms, "f", 2, 1}},
			[]string{"request", " q 5ms-10ms", " f 10ms-20ms 1×10ms"}},
		{"of a span of no request that has not ended, but something in it", func(p *tape) { p.in("q", 5*ms, 10*ms, 2, 1) },
			[]shot{{20 * ms, "f", 1, 1}},
			[]string{"process", " q 5ms-10ms", " f 10ms-20ms 1×10ms"}},
		{"of a span on another lane", func(p *tape) { p.in("a", 0, 100*ms, 1, 0); p.in("beside", 50*ms, 150*ms, 2, 0) },
			[]shot{{60 * ms, "f", 1, 2}},
			[]string{"process", " a 0s-100ms", "process · 2", " beside 50ms-150ms", "  f 50ms-60ms 1×10ms"}},
		{"of two goroutines", func(p *tape) { p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{10 * ms, "f", 1, 1}, {10 * ms, "g", 1, 1}, {20 * ms, "g", 1, 1}, {20 * ms, "f", 1, 1}, {30 * ms, "f", 1, 1}, {30 * ms, "g", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 0s-30ms 3×15ms", "  g 0s-30ms 3×15ms"}},
		{"of several goroutines, by their weight", func(p *tape) { p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{10 * ms, "f", 1, 1}, {10 * ms, "g", 1, 1}, {10 * ms, "f", 1, 1}, {10 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 0s-10ms 3×7.5ms", "  g 0s-10ms 1×2.5ms"}},
		{"of a goroutine that did something else in between", func(p *tape) { p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{10 * ms, "f", 1, 1}, {10 * ms, "g", 1, 1}, {20 * ms, "f", 1, 1}, {30 * ms, "f", 1, 1}, {30 * ms, "g", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 0s-30ms 3×20ms", "  g 0s-10ms 1×5ms", "  g 20ms-30ms 1×5ms"}},
		{"of two goroutines, split by a child", func(p *tape) { p.in("b", 12*ms, 18*ms, 2, 1); p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{10 * ms, "f", 1, 1}, {10 * ms, "g", 1, 1}, {20 * ms, "f", 1, 1}, {20 * ms, "g", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 0s-10ms 1×5ms", "  g 0s-10ms 1×5ms", "  b 12ms-18ms", "  f 18ms-20ms 1×1ms", "  g 18ms-20ms 1×1ms"}},
		{"of two goroutines in two events, while the inner one is open", func(p *tape) { p.in("b", 12*ms, 40*ms, 2, 1); p.in("a", 0, 100*ms, 1, 0) },
			[]shot{{20 * ms, "f", 1, 1}, {20 * ms, "f", 1, 2}, {30 * ms, "f", 1, 2}, {30 * ms, "f", 1, 1}},
			[]string{"process", " a 0s-100ms", "  f 10ms-12ms 2×2ms", "  b 12ms-40ms", "   f 12ms-30ms 2×18ms"}},
		{"of no span", func(p *tape) { p.in("a", 0, 100*ms, 1, 0); p.in("beside", 50*ms, 150*ms, 2, 0) },
			[]shot{{60 * ms, "f", 0, 0}},
			[]string{"process", " a 0s-100ms", "process · 2", " beside 50ms-150ms", "process · 3", " f 50ms-60ms 1×10ms"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			c.record(p)
			tr := p.traceOf(c.shots...)
			for i := range tr.Samples {
				tr.Samples[i].Weight = 0 // as in a trace that was read
			}
			for what, tr := range map[string]*profile.Trace{"with weights": p.traceOf(c.shots...), "without": tr} {
				if got := drawSamples(p.session(tr)); !slices.Equal(got, c.want) {
					t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
				}
			}
			s := p.session(tr)
			n := 0
			for _, tl := range s.Timelines() {
				for sample := range s.Samples(tl.ID) {
					n++
					if s.Since(sample) != sample.Timestamp-time.Minute {
						t.Errorf("a sample of %v was taken %v after the session's start", sample.Timestamp, s.Since(sample))
					}
				}
			}
			if n != len(c.shots) || s.Stats().Samples != uint64(n) {
				t.Errorf("%d samples in the timelines, %d counted, want %d", n, s.Stats().Samples, len(c.shots))
			}
		})
	}
}
