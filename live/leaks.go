package live

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/observer"
)

const (
	maxStacks = 100              // of leaked goroutines that are shown, and frames of each
	leakPause = 10 * time.Second // between two looks for leaked goroutines: each stops the world
)

// leakProfile returns the runtime's profile of leaked goroutines, or nil if this release of Go has
// none.
func leakProfile() *pprof.Profile { return pprof.Lookup("goroutineleak") }

// leakReport lists the leaked goroutines.
type leakReport struct {
	At         float64     `json:"at"`
	Took       float64     `json:"took"`
	Goroutines int64       `json:"goroutines"`
	Stacks     []leakStack `json:"stacks"` // the one with the most goroutines first
	Cut        int         `json:"cut"`    // stacks left out
}

// leakStack is a stack of leaked goroutines. A frame is a function, with its file and line. Frames
// of modules that the policy does not show are left out.
type leakStack struct {
	Goroutines int64    `json:"goroutines"`
	Span       string   `json:"span,omitempty"` // by whose name they are labelled
	Frames     []string `json:"frames"`         // the innermost first
}

// A leakLooker looks for leaked goroutines for one client at a time, and at most every leakPause.
type leakLooker struct {
	mu   sync.Mutex // guards what follows
	last *leakReport
	at   time.Time // when last was made
}

// leaks answers which goroutines have leaked. A client that asks soon after another gets the same
// answer.
func (h *handler) leaks(w http.ResponseWriter, r *http.Request) {
	if err := h.refused(); err != nil {
		refuse(w, http.StatusForbidden, err.Error())
		return
	}
	leaked := leakProfile()
	if leaked == nil {
		refuse(w, http.StatusNotFound,
			"the Go release of this program has no profile of leaked goroutines: build it with Go 1.27")
		return
	}
	done, ok := h.working(w, r)
	if !ok {
		return
	}
	defer done()
	report, err := h.leakLooker.look(leaked, h.policy.Shows)
	if err != nil {
		refuse(w, http.StatusInternalServerError,
			fmt.Sprintf("looking for leaked goroutines: %v", err))
		return
	}
	answer(w, report)
}

func (l *leakLooker) look(leaked *pprof.Profile, shows func(function string) bool) (*leakReport,
	error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && time.Since(l.at) < leakPause {
		return l.last, nil
	}
	began := time.Now()
	var raw bytes.Buffer
	if err := leaked.WriteTo(&raw, 0); err != nil {
		return nil, err
	}
	took := time.Since(began)
	p, err := profile.Parse(&raw)
	if err != nil {
		return nil, err
	}
	l.last, l.at = newLeakReport(p, shows), time.Now()
	l.last.At, l.last.Took = sinceEpoch(began), observer.Milliseconds(took)
	return l.last, nil
}

// newLeakReport joins goroutines whose stacks look the same.
func newLeakReport(p *profile.Profile, shows func(function string) bool) *leakReport {
	report := &leakReport{Stacks: []leakStack{}}
	byText := map[string]*leakStack{}
	for _, sample := range p.Sample {
		s := leakStack{Goroutines: sample.Value[0], Frames: []string{}}
		report.Goroutines += s.Goroutines
		if names := sample.Label["span_name"]; len(names) > 0 {
			s.Span = shown(names[0])
		}
		for _, location := range sample.Location {
			for _, line := range location.Line {
				if len(s.Frames) < maxStacks && shows(line.Function.Name) {
					s.Frames = append(s.Frames,
						fmt.Sprintf("%s %s:%d", shown(line.Function.Name),
							shown(line.Function.Filename), line.Line))
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
