package marks_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Times that do not fit are errors that name them.
func TestTimesOutOfRange(t *testing.T) {
	process, ctx := newManual()
	process.now = time.Hour
	ctx = observer.NewContext(ctx, process.NewChild())
	const last = time.Duration(math.MaxInt64)
	for name, c := range map[string]struct {
		f    func() error
		want string
	}{
		"MarkAt": {func() error { _, err := marks.MarkAt(ctx, "m", last); return err }, "2562047h47m16.854775807s"},
		"Start": {func() error {
			_, err := marks.Measure(ctx, "m", marks.MeasureOptions{Start: marks.At(last)})
			return err
		}, "Start 2562047h47m16.854775807s"},
		"End": {func() error {
			_, err := marks.Measure(ctx, "m", marks.MeasureOptions{End: marks.At(last)})
			return err
		}, "End 2562047h47m16.854775807s"},
		"Start and Duration": {func() error {
			_, err := marks.Measure(ctx, "m", marks.MeasureOptions{Start: marks.At(1), Duration: after(last)})
			return err
		}, "Duration 2562047h47m16.854775807s"},
		"Start and Duration that fit one by one": {func() error {
			_, err := marks.Measure(ctx, "m", marks.MeasureOptions{Start: marks.At(record.MaxTime), Duration: after(record.MaxTime)})
			return err
		}, "1281023h53m38.427387903s"},
		"Duration and End": {func() error {
			_, err := marks.Measure(ctx, "m", marks.MeasureOptions{End: marks.At(1), Duration: after(last)})
			return err
		}, "Duration 2562047h47m16.854775807s"},
	} {
		err := c.f()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `"m"`) || errors.Is(err, marks.ErrNegative) {
			t.Errorf("%s: got %v, want an error with %s", name, err, c.want)
		}
	}
	if n := len(observer.FromContext(ctx).Entries()); n != 0 {
		t.Errorf("%d entries were recorded", n)
	}
}
