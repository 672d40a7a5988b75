// Package pprofile reads samples from profiles in pprof's format, for engines without a better
// source.
package pprofile

import (
	"maps"
	"slices"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// Fill copies the stack and the labels of p to s, and reuses the memory of s. p must belong to a
// valid profile: [pprofpb.ParseData] accepts such a profile. The stack also contains inlined calls.
// An address without a function name becomes a call with the name "unknown".
func Fill(s *sampling.Sample, p *pprofpb.Sample, symbols *sampling.Symbols) {
	s.Stack = s.Stack[:0]
	for _, location := range p.Location {
		if len(location.Line) == 0 {
			s.Stack = append(s.Stack, symbols.Place(profile.Call{Name: "unknown"}))
		}
		for _, line := range location.Line {
			f := line.Function
			name := f.Name
			if name == "" {
				name = "unknown"
			}
			s.Stack = append(s.Stack, symbols.Place(profile.Call{
				Name: name, File: f.Filename,
				StartLine: int(max(f.StartLine, 0)), Line: int(max(line.Line, 0)),
			}))
		}
	}
	s.Stack = sampling.WithoutPreemption(s.Stack)
	s.Labels = s.Labels[:0]
	for _, key := range slices.Sorted(maps.Keys(p.Label)) {
		for _, value := range p.Label[key] {
			s.Labels = append(s.Labels, spanlabels.Label{Key: key, Value: value})
		}
	}
}
