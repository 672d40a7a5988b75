//go:build !race

// The race detector allocates on its own account.

package marks_test

import (
	"log/slog"
	"testing"

	"github.com/perfline/perfline/marks"
)

// A record that becomes a mark has few allocations more than slog itself.
func TestAllocsOfTheHandler(t *testing.T) {
	k, v, n := "key", "value", 42
	plain := slog.New(marks.NewHandler(nil, nil))
	with := plain.With("a", 1, "b", 2)
	for name, ctx := range contexts() {
		for _, c := range []struct {
			name string
			f    func()
			want float64
		}{
			{"4 attributes", func() {
				plain.LogAttrs(ctx, slog.LevelWarn, "m", slog.String(k, v), slog.Int("n", n), slog.Bool("b", true), slog.Float64("f", 1.5))
			}, 0},
			{"2 attributes of the handler, 5 of the record", func() {
				with.LogAttrs(ctx, slog.LevelWarn, "m", slog.String(k, v), slog.Int("n", n), slog.Bool("b", true), slog.Float64("f", 1.5), slog.Int("m", n))
			}, 0},
			{"below the level", func() { plain.LogAttrs(ctx, slog.LevelInfo, "m", slog.String(k, v)) }, 0},
			{"an error: its text", func() { plain.LogAttrs(ctx, slog.LevelWarn, "m", slog.Any("err", errFull)) }, 0},
		} {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				if got := testing.AllocsPerRun(20_000, c.f); got != c.want {
					t.Errorf("%v allocations, want %v", got, c.want)
				}
			})
		}
	}
}
