package marks_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
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
		got := accepted(func(name string) error { _, err := marks.MarkAt(ctx, name, 0); return err })
		if len(got) > 0 {
			t.Errorf("MarkAt accepts %q on a request, want an error (SyntaxError)", got)
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
		served := []string{record.RequestStart, record.ResponseStart, record.ResponseEnd}
		for i, name := range served {
			if err := (*record.Timeline)(child).SetTiming(name, time.Duration(i)); err != nil {
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

func TestSupportedTypes_UT25(t *testing.T) {
	supported := observer.SupportedEntryTypes()
	if !slices.Contains(supported, observer.Mark) || !slices.Contains(supported, observer.Measure) {
		t.Errorf("supported are %v", supported)
	}
}
