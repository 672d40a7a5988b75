//go:build !perfline_portable

package spanlabels_test

import (
	"bytes"
	"runtime/pprof"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

// A profile of runtime/pprof has the labels of a goroutine that works for a span.
func TestProfilesHaveTheLabels(t *testing.T) {
	on(t)
	label("app", "shop")
	defer goruntime.SetLabels(nil)
	s := spanlabels.Set(t.Context(), spanContext([16]byte{1}, [8]byte{0x99}), "na\xffme", false)
	defer s.End("")
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 0); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&buf)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"app": "shop", "span_id": "9900000000000000", "span_name": "na\uFFFDme",
		"trace_id": "01000000000000000000000000000000"}
	found := 0
	for _, sample := range p.Sample {
		if sample.HasLabel("span_id", want["span_id"]) {
			found++
			for k, v := range want {
				if !sample.HasLabel(k, v) {
					t.Errorf("the label %s is %q, want %q", k, sample.Label[k], v)
				}
			}
		}
	}
	if found != 1 {
		t.Errorf("%d goroutines work for the span, want 1", found)
	}
}
