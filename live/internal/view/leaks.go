package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/observer"
)

const maxStacks = 100 // of leaked goroutines that are shown, and frames of each

// A LeakReport lists the leaked goroutines.
type LeakReport struct {
	At         float64     `json:"at"`         // time of the look, since the epoch of Unix
	Took       float64     `json:"took"`       // duration
	Goroutines int64       `json:"goroutines"` // goroutines
	Stacks     []leakStack `json:"stacks"`     // the one with the most goroutines first
	Cut        int         `json:"cut"`        // stacks left out
}

// leakStack is a stack of leaked goroutines. A frame is a function, with its file and line. Frames
// of modules that the policy does not show are left out.
type leakStack struct {
	Goroutines int64    `json:"goroutines"`     // goroutines
	Span       string   `json:"span,omitempty"` // by whose name they are labelled
	Frames     []string `json:"frames"`         // the innermost first
}

// NewLeakReport joins goroutines whose stacks look the same. The profile began at a time, and took
// another.
func NewLeakReport(
	p *profile.Profile, shows func(function string) bool, at time.Time, took time.Duration,
) LeakReport {
	report := LeakReport{
		At: SinceEpoch(at), Took: observer.Milliseconds(took), Stacks: []leakStack{},
	}
	byText := map[string]*leakStack{}
	for _, sample := range p.Sample {
		s := leakStack{Goroutines: sample.Value[0], Frames: []string{}}
		report.Goroutines += s.Goroutines
		if names := sample.Label["span_name"]; len(names) > 0 {
			s.Span = Shown(names[0])
		}
		for _, location := range sample.Location {
			for _, line := range location.Line {
				if len(s.Frames) < maxStacks && shows(line.Function.Name) {
					s.Frames = append(s.Frames,
						fmt.Sprintf("%s %s:%d", Shown(line.Function.Name),
							Shown(line.Function.Filename), line.Line))
				}
			}
		}
		text := s.Span + "\n" + strings.Join(s.Frames, "\n")
		if known := byText[text]; known != nil {
			known.Goroutines += s.Goroutines
			continue
		}
		byText[text] = &s
	}
	for _, s := range byText {
		report.Stacks = append(report.Stacks, *s)
	}
	slices.SortFunc(report.Stacks, func(a, b leakStack) int {
		return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), slices.Compare(a.Frames, b.Frames),
			cmp.Compare(a.Span, b.Span))
	})
	report.Cut = max(0, len(report.Stacks)-maxStacks)
	report.Stacks = report.Stacks[:len(report.Stacks)-report.Cut]
	return report
}
