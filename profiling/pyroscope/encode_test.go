package pyroscope

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// flat is a profile of n samples, each with a function and a label of its own.
func flat(n, labelSize int) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period: 10, TimeNanos: 1e18, DurationNanos: 15e9, Mapping: []*profile.Mapping{{ID: 1}},
	}
	for i := range n {
		f := &profile.Function{ID: uint64(i + 1), Name: fmt.Sprint("f", i)}
		l := &profile.Location{ID: uint64(i + 1), Mapping: p.Mapping[0], Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		label := map[string][]string{"l": {fmt.Sprint(i, strings.Repeat("x", labelSize))}}
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{int64(i)}, Location: []*profile.Location{l}, Label: label})
	}
	return p
}

// A profile that the server would refuse for its size is sent in parts, which have each
// sample once, and nothing that is another part's.
func TestEncodeInParts(t *testing.T) {
	for _, c := range []struct {
		name               string
		samples, labelSize int
		parts              int
	}{
		{"one", 1, 0, 1},
		{"as many as one has", maxSamples, 0, 1},
		{"one more", maxSamples + 1, 0, 2},
		{"three", 2*maxSamples + 1, 0, 3},
		{"large labels", 1000, 2000, 2},
		{"one that is too large anyway", 1, 2 * maxBytes, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts, err := encode(flat(c.samples, c.labelSize))
			if err != nil {
				t.Fatal(err)
			}
			if len(parts) != c.parts {
				t.Errorf("%d parts, want %d", len(parts), c.parts)
			}
			next, times := int64(0), map[int64]bool{}
			for i, data := range parts {
				p, err := profile.ParseData(data)
				if err != nil {
					t.Fatal(err)
				}
				z, err := gzip.NewReader(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				if size, _ := io.Copy(io.Discard, z); len(p.Sample) > maxSamples || size > maxBytes && len(p.Sample) > 1 {
					t.Errorf("part %d has %d samples and %d bytes", i, len(p.Sample), size)
				}
				for _, s := range p.Sample {
					if s.Value[0] != next || s.Location[0].Line[0].Function.Name != fmt.Sprint("f", next) {
						t.Fatalf("sample %d of %s, want the %dth", s.Value[0], s.Location[0].Line[0].Function.Name, next)
					}
					next++
				}
				if len(p.Location) != len(p.Sample) || len(p.Function) != len(p.Sample) {
					t.Errorf("part %d of %d samples has %d locations and %d functions", i, len(p.Sample), len(p.Location), len(p.Function))
				}
				if times[p.TimeNanos/1e6] || p.TimeNanos < 1e18 || p.TimeNanos > 1e18+1e9 {
					t.Errorf("part %d is of %d, which another is of, too, or not about 10¹⁸", i, p.TimeNanos)
				}
				times[p.TimeNanos/1e6] = true
				if p.DurationNanos != 15e9 || p.Period != 10 || p.PeriodType.Type != "cpu" || p.SampleType[0].Unit != "nanoseconds" {
					t.Errorf("part %d is of %d ns, period %d %v, type %v", i, p.DurationNanos, p.Period, p.PeriodType, p.SampleType[0])
				}
			}
			if next != int64(c.samples) {
				t.Errorf("%d samples in all, want %d", next, c.samples)
			}
		})
	}
}
