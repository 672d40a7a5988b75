package marks_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// performanceTiming are the read-only attributes of the PerformanceTiming
// interface (Navigation Timing).
var performanceTiming = []string{
	"navigationStart", "unloadEventStart", "unloadEventEnd", "redirectStart", "redirectEnd", "fetchStart",
	"domainLookupStart", "domainLookupEnd", "connectStart", "connectEnd", "secureConnectionStart",
	"requestStart", "responseStart", "responseEnd", "domLoading", "domInteractive",
	"domContentLoadedEventStart", "domContentLoadedEventEnd", "domComplete", "loadEventStart", "loadEventEnd",
}

// accepted lists the names for which f gives no error.
func accepted(f func(name string) error) (out []string) {
	for _, name := range performanceTiming {
		if f(name) == nil {
			out = append(out, name)
		}
	}
	return out
}

// A request's timeline is a Window, the process's a Worker (CHECKLIST, "our
// decisions", UT-3 and UT-23; DESIGN section 3).
func TestPerformanceTimingNames(t *testing.T) {
	t.Run("UT-3 a Window refuses to mark them", func(t *testing.T) {
		process, ctx := newManual()
		child := process.NewChild()
		ctx = observer.NewContext(ctx, child)
		for what, f := range map[string]func(string) error{
			"MarkAt":  func(name string) error { _, err := marks.MarkAt(ctx, name, 0); return err },
			"NewMark": func(name string) error { _, err := marks.NewMark(ctx, name); return err },
		} {
			if got := accepted(f); len(got) > 0 {
				t.Errorf("%s accepts %q on a request, want an error (SyntaxError)", what, got)
			}
		}
		if n := len(child.Entries()); n != 0 {
			t.Errorf("%d of them were recorded", n)
		}
	})
	t.Run("UT-3 a Worker takes them", func(t *testing.T) {
		process, ctx := newManual()
		got := accepted(func(name string) error { _, err := marks.MarkAt(ctx, name, 0); return err })
		if !slices.Equal(got, performanceTiming) || len(process.Entries()) != len(performanceTiming) {
			t.Errorf("MarkAt on the process accepts %q only", got)
		}
	})
	t.Run("UT-23 a Worker does not measure from them even if such a mark exists", func(t *testing.T) {
		process, ctx := newManual()
		for what, point := range map[string]func(*marks.MeasureOptions, string){
			"from":  func(o *marks.MeasureOptions, name string) { o.Start = marks.Named(name) },
			"until": func(o *marks.MeasureOptions, name string) { o.End = marks.Named(name) },
		} {
			if got := accepted(func(name string) error {
				marks.Mark(ctx, name)
				var o marks.MeasureOptions
				point(&o, name)
				_, err := marks.Measure(ctx, "m", o)
				if err != nil && !errors.Is(err, marks.ErrNoRequest) {
					t.Errorf("Measure %s %q: %v, want ErrNoRequest", what, name, err)
				}
				return err
			}); len(got) > 0 {
				t.Errorf("Measure %s accepts %q on the process, want an error (TypeError)", what, got)
			}
		}
		if n := len(process.EntriesByType(observer.Measure)); n != 0 {
			t.Errorf("%d measures recorded", n)
		}
	})
	t.Run("UT-23 on a Window navigationStart is 0", func(t *testing.T) {
		process, ctx := newManual()
		process.now = 5
		ctx = observer.NewContext(ctx, process.NewChild())
		process.now = 12
		m, err := marks.Measure(ctx, "m", marks.MeasureOptions{Start: marks.Named("navigationStart")})
		if err != nil || m.StartTime() != 0 || m.Duration() != 7 {
			t.Errorf("got %v for %v, %v, want 0 for 7ns", m.StartTime(), m.Duration(), err)
		}
	})
	t.Run("UT-23 on a Window each has its own value", func(t *testing.T) {
		process, ctx := newManual()
		child := process.NewChild()
		ctx = observer.NewContext(ctx, child)
		served := []string{observer.RequestStart, observer.ResponseStart, observer.ResponseEnd}
		for i, name := range served {
			if err := child.SetTiming(name, time.Duration(i)); err != nil {
				t.Error(err)
			}
		}
		for i, name := range served {
			m, err := marks.Measure(ctx, name, marks.MeasureOptions{End: marks.Named(name)})
			if err != nil || m.Duration() != time.Duration(i) {
				t.Errorf("until %s: %v, %v, want %v", name, m.Duration(), err, time.Duration(i))
			}
		}
	})
	t.Run("UT-23 on a Window an attribute without a value is an error", func(t *testing.T) {
		process, ctx := newManual()
		ctx = observer.NewContext(ctx, process.NewChild())
		if _, err := marks.Measure(ctx, "m", marks.MeasureOptions{End: marks.Named("loadEventEnd")}); !errors.Is(err, marks.ErrNoTiming) {
			t.Errorf("got %v, want ErrNoTiming (InvalidAccessError)", err)
		}
	})
}

func TestRecommendedNames_UT25_UT26(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{marks.FullyLoaded, "mark_fully_loaded"},
		{marks.FullyVisible, "mark_fully_visible"},
		{marks.Interactive, "mark_interactive"},
		{marks.FeatureUsage, "mark_feature_usage"},
	} {
		if c.got != c.want {
			t.Errorf("UT-26: got %q, want %q", c.got, c.want)
		}
	}
	supported := map[observer.Type]bool{}
	for _, typ := range observer.SupportedEntryTypes() {
		supported[typ] = true
	}
	if !supported[observer.Mark] || !supported[observer.Measure] {
		t.Errorf("UT-25: supported are %v", observer.SupportedEntryTypes())
	}
}
