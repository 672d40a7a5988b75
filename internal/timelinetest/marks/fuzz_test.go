package marks_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Whatever the options, Measure gives an entry that is where they say or an
// error that one can branch on, and then records nothing.
func FuzzMeasureOptions(f *testing.F) {
	f.Add(uint8(0), "m", int64(0), int64(0), int64(0))
	f.Add(uint8(0xff), "navigationStart", int64(-1), int64(math.MaxInt64), int64(math.MinInt64))
	f.Add(uint8(0b10_01_1_0), "there", int64(5), int64(3), int64(1))
	f.Add(uint8(0b01_10_0_1), "", int64(1), int64(2), int64(3))
	f.Fuzz(func(t *testing.T, shape uint8, name string, start, end, duration int64) {
		process, ctx := newManual()
		process.now = 10
		tl := process.Timeline
		if shape&1 != 0 {
			tl = process.NewChild()
			ctx = observer.NewContext(ctx, tl)
		}
		marks.Mark(ctx, "there")
		point := func(kind uint8, at int64) marks.Point {
			switch kind & 3 {
			case 1:
				return marks.At(time.Duration(at))
			case 2:
				return marks.Named(name)
			case 3:
				return marks.Named("there")
			}
			return marks.Point{}
		}
		o := marks.MeasureOptions{Start: point(shape>>4, start), End: point(shape>>6, end)}
		if shape&2 != 0 {
			d := time.Duration(duration)
			o.Duration = &d
		}
		m, err := marks.Measure(ctx, name, o)
		recorded := tl.EntriesByType(observer.Measure)
		if err != nil {
			known := false
			for _, sentinel := range []error{marks.ErrNoMark, marks.ErrNegative, marks.ErrOptions, marks.ErrNoRequest, marks.ErrNoTiming} {
				known = known || errors.Is(err, sentinel)
			}
			if !known || len(recorded) != 0 {
				t.Errorf("error %v, %d recorded", err, len(recorded))
			}
			return
		}
		if len(recorded) != 1 || recorded[0].StartTime() != m.StartTime() || recorded[0].Duration() != m.Duration() || m.Name() != name {
			t.Errorf("returned %q at %v for %v, recorded %v", m.Name(), m.StartTime(), m.Duration(), recorded)
		}
	})
}
