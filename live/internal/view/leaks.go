package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

const maxStacks = 100 // in a LeakReport; also frames in a stack

// A LeakReport lists the leaked goroutines.
type LeakReport struct {
	At         float64      `json:"at"`         // start of the search, since the epoch of Unix
	Took       float64      `json:"took"`       // duration of the search
	Goroutines int64        `json:"goroutines"` // leaked goroutines
	Stacks     []*leakStack `json:"stacks"`     // the stack of the most goroutines first
	Cut        int          `json:"cut"`        // stacks left out
}

// A leakStack is a stack of leaked goroutines. A frame is a function with its file and line. Frames
// of modules that the policy does not show are left out.
type leakStack struct {
	Goroutines int64    `json:"goroutines"`     // goroutines with the stack
	Span       string   `json:"span,omitempty"` // name of the span in their labels
	Frames     []string `json:"frames"`         // the innermost first
}

// NewLeakReport groups the leaked goroutines in p by stack and span. shows reports whether the
// policy shows a function. at is the start of the search, and took is the duration of the search.
func NewLeakReport(
	p *profile.Profile, shows func(function string) bool, at time.Time, took time.Duration,
) LeakReport {
	report := LeakReport{At: SinceEpoch(at), Took: ms(took)}
	byText := map[string]*leakStack{}
	for _, sample := range p.Sample {
		s := leakStack{Goroutines: sample.Value[0], Frames: []string{}}
		report.Goroutines += s.Goroutines
		if names := sample.Label["span_name"]; len(names) > 0 {
			s.Span = Shown(names[0])
		}
		for _, location := range sample.Location {
			for _, line := range location.Line {
				if f := line.Function; len(s.Frames) < maxStacks && shows(f.Name) {
					s.Frames = append(s.Frames,
						fmt.Sprintf("%s %s:%d", Shown(f.Name), Shown(f.Filename), line.Line))
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
	stacks := slices.SortedFunc(maps.Values(byText), func(a, b *leakStack) int {
		return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), slices.Compare(a.Frames, b.Frames),
			cmp.Compare(a.Span, b.Span))
	})
	n := min(len(stacks), maxStacks)
	report.Stacks, report.Cut = append([]*leakStack{}, stacks[:n]...), len(stacks)-n
	return report
}
