package window

import (
	"reflect"
	"testing"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// The samples of a profile, one by one.
func TestSamplesOfAProfile(t *testing.T) {
	types := []*pprofpb.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
	function := func(name string) *pprofpb.Line {
		return &pprofpb.Line{Function: &pprofpb.Function{Name: name, Filename: "f.go", StartLine: 3}, Line: 7}
	}
	at := func(lines ...*pprofpb.Line) *pprofpb.Location {
		l := &pprofpb.Location{}
		for _, line := range lines {
			l.Line = append(l.Line, *line)
		}
		return l
	}
	symbol := func(name string) *profile.Call {
		return &profile.Call{Name: name, File: "f.go", StartLine: 3, Line: 7}
	}
	deep := &pprofpb.Sample{Value: []int64{1, 10}}
	for range 64 {
		deep.Location = append(deep.Location, at(function("m.f")))
	}
	for name, c := range map[string]struct {
		types  []*pprofpb.ValueType
		sample pprofpb.Sample
		want   *sampling.Sample // nil: none
		lost   uint64
	}{
		"inlined calls": {types, pprofpb.Sample{
			Value:    []int64{3, 30},
			Location: []*pprofpb.Location{at(function("m.leaf"), function("m.inliner")), at(function("main.main"))},
			Label:    map[string][]string{"b": {"2"}, "a": {"1"}},
		}, &sampling.Sample{
			At: 5, Count: 3, Weight: 30,
			Stack:  []*profile.Call{symbol("m.leaf"), symbol("m.inliner"), symbol("main.main")},
			Labels: []spanlabels.Label{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}},
		}, 0},
		"names that are not known": {types, pprofpb.Sample{
			Value:    []int64{1, 10},
			Location: []*pprofpb.Location{at(), at(&pprofpb.Line{Function: &pprofpb.Function{StartLine: -1}, Line: -1})},
		}, &sampling.Sample{
			At: 5, Count: 1, Weight: 10, Stack: []*profile.Call{{Name: "unknown"}, {Name: "unknown"}},
		}, 0},
		"no stack":          {types, pprofpb.Sample{Value: []int64{1, 10}}, &sampling.Sample{At: 5, Count: 1, Weight: 10, Marker: profile.Other}, 0},
		"counts nothing":    {types, pprofpb.Sample{Value: []int64{0, 0}}, nil, 0},
		"lost by pprof":     {types, pprofpb.Sample{Value: []int64{4, 40}, Location: []*pprofpb.Location{at(function("runtime/pprof.lostProfileEvent"))}}, nil, 4},
		"lost of cgo":       {types, pprofpb.Sample{Value: []int64{2, 20}, Location: []*pprofpb.Location{at(function("runtime._LostExternalCode")), at(function("runtime._ExternalCode"))}}, nil, 2},
		"lost in atomics":   {types, pprofpb.Sample{Value: []int64{2, 20}, Location: []*pprofpb.Location{at(function("runtime._LostSIGPROFDuringAtomic64"))}}, nil, 2},
		"another profile's": {types[:1], pprofpb.Sample{Value: []int64{1}}, nil, 1},
		"too deep": {types, *deep, func() *sampling.Sample {
			s := &sampling.Sample{At: 5, Count: 1, Weight: 10, Cut: true}
			for range 64 {
				s.Stack = append(s.Stack, symbol("m.f"))
			}
			return s
		}(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := New(sampling.NewSymbols(), answerTimeout, nil)
			got := &collected{}
			e.emitProfile(&pprofpb.Profile{SampleType: c.types, Sample: []*pprofpb.Sample{&c.sample}}, 5, got.emit)
			var want []sampling.Sample
			if c.want != nil {
				want = append(want, *c.want)
			}
			if !reflect.DeepEqual(got.samples, want) {
				t.Errorf("samples %+v, want %+v", got.samples, want)
			}
			if e.Lost() != c.lost {
				t.Errorf("Lost() = %d, want %d", e.Lost(), c.lost)
			}
		})
	}
}

// FuzzProfile reads profiles. Its seeds, under testdata, are windows that runtime/pprof has written,
// without compression, so that a changed byte is a changed field.
func FuzzProfile(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := pprofpb.ParseData(data)
		if err != nil {
			return
		}
		e := New(sampling.NewSymbols(), answerTimeout, nil)
		e.emitProfile(p, 1, func(s *sampling.Sample) {
			if s.Count < 1 || s.At != 1 {
				t.Errorf("Count %d, At %d: want a count, and the time given", s.Count, s.At)
			}
			for _, f := range s.Stack {
				if f.Name == "" || f.Line < 0 || f.StartLine < 0 {
					t.Errorf("symbol %+v: want a name, and lines that are not negative", *f)
				}
			}
		})
	})
}
