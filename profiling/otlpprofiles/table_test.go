package otlpprofiles

import (
	"testing"

	"pgregory.net/rapid"
)

// A table numbers different texts in their order, and equal ones the same, also after it was used for others.
func TestTable(t *testing.T) {
	var used table
	rapid.Check(t, func(t *rapid.T) {
		used.reset()
		model := map[string]int32{}
		for _, s := range rapid.SliceOf(rapid.StringN(0, 3, 3)).Draw(t, "texts") {
			want, known := model[s]
			if !known {
				want = int32(len(model))
				model[s] = want
			}
			if got := number(&used, s); got != want {
				t.Fatalf("%q is number %d, want %d", s, got, want)
			}
			if got := number(&used, []byte(s)); got != want || string(used.entry(got)) != s {
				t.Fatalf("as bytes, %q is number %d, want %d", s, got, want)
			}
		}
	})
}
