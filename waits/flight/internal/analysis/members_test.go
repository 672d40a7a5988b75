package analysis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/waits"
)

// A chronicle is what the notes and the creations of a trace say about goroutines.
type chronicle struct {
	creators map[uint64]uint64 // of goroutines
	spans    map[trace.SpanID]startedSpan
	roots    map[trace.SpanID]*served
	tasks    map[xtrace.TaskID]trace.SpanID // their roots
	first    xtrace.Time
}

// A startedSpan is a span with a note at its start.
type startedSpan struct {
	goroutine uint64
	root      trace.SpanID // zero if unknown
	task      xtrace.TaskID
}

// served is the time in which a goroutine serves a root.
type served struct {
	goroutine  uint64
	start, end xtrace.Time // 0: before or after the trace
}

func chronicleOf(j judge, data []byte) *chronicle {
	c := &chronicle{
		creators: map[uint64]uint64{}, spans: map[trace.SpanID]startedSpan{},
		roots: map[trace.SpanID]*served{}, tasks: map[xtrace.TaskID]trace.SpanID{},
	}
	events(j, data, func(event *xtrace.Event) {
		if c.first == 0 {
			c.first = event.Time()
		}
		switch event.Kind() {
		case xtrace.EventStateTransition:
			t := event.StateTransition()
			if t.Resource.Kind != xtrace.ResourceGoroutine {
				return
			}
			if from, _ := t.Goroutine(); from == xtrace.GoNotExist {
				c.creators[uint64(t.Resource.Goroutine())] = uint64(event.Goroutine())
			}
		case xtrace.EventLog:
			log := event.Log()
			c.note(tracelog.Parse(log.Category, log.Message), log.Task, uint64(event.Goroutine()), event.Time())
		default:
		}
	})
	return c
}

func (c *chronicle) note(n tracelog.Note, task xtrace.TaskID, g uint64, at xtrace.Time) {
	switch n.Kind {
	case tracelog.RootStart:
		c.roots[n.SpanID] = &served{goroutine: g, start: at}
		c.tasks[task] = n.SpanID
	case tracelog.SpanStart:
		c.spans[n.SpanID] = startedSpan{g, n.Root, task}
	case tracelog.SpanEnd:
		if _, ok := c.spans[n.SpanID]; ok {
			return
		}
		if c.roots[n.SpanID] == nil { // a root, or another span, that started before the trace
			c.roots[n.SpanID] = &served{goroutine: g}
			c.tasks[task] = n.SpanID
		}
		c.roots[n.SpanID].end = at
	default:
	}
}

// members returns the goroutines that may work for a request: the serving one, goroutines on which
// spans of the request started, and all that these have created.
func (c *chronicle) members(r *waits.Request) func(uint64) bool {
	own := []uint64{r.Goroutines[0].ID}
	for _, s := range c.spans {
		root := s.root
		if !root.IsValid() {
			root = c.tasks[s.task]
		}
		if root == r.RootID || s.task == xtrace.BackgroundTask || s.task == xtrace.NoTask {
			own = append(own, s.goroutine)
		}
	}
	return func(g uint64) bool {
		for range len(c.creators) + 1 {
			if slices.Contains(own, g) {
				return true
			}
			creator, ok := c.creators[g]
			if !ok {
				return false
			}
			g = creator
		}
		return false
	}
}

// servesAnother reports whether a goroutine serves another root throughout a time.
func (c *chronicle) servesAnother(g uint64, than trace.SpanID, from, to xtrace.Time) bool {
	for id, s := range c.roots {
		if id != than && s.goroutine == g && s.start <= from && (s.end == 0 || s.end >= to) {
			return true
		}
	}
	return false
}

// A result lists the goroutines of the request only: the trace has their creation, or a span of the
// request on them. No goroutine is listed while it serves another request. Only a goroutine of the
// request is "another goroutine of this request".
func TestGoroutinesAreOfTheRequest(t *testing.T) {
	for _, release := range releases(t) {
		for _, f := range fixtures {
			r := load(t, release, f.name)
			c := chronicleOf(t, r.data)
			for _, got := range r.results(t) {
				c.checkMembers(t, release+"/"+f.name, &got)
			}
		}
	}
}

func (c *chronicle) checkMembers(t *testing.T, name string, r *waits.Request) {
	t.Helper()
	isMember := c.members(r)
	start := c.roots[r.RootID].start
	if end := c.roots[r.RootID].end; start == 0 {
		start = end - xtrace.Time(r.Duration)
	}
	for _, g := range r.Goroutines[1:] {
		if !isMember(g.ID) {
			t.Errorf("%s: %s has goroutine %d, which it did not create", name, r.Name, g.ID)
		}
		for _, i := range g.Intervals {
			from, to := start+xtrace.Time(i.Start), start+xtrace.Time(i.End)
			if c.servesAnother(g.ID, r.RootID, from+xtrace.Time(time.Microsecond), to-xtrace.Time(time.Microsecond)) {
				t.Errorf("%s: %s has goroutine %d, which serves another request then: %+v", name, r.Name, g.ID, i)
			}
		}
	}
	for _, cause := range r.Causes {
		ours := cause.By != nil && cause.By.RootID == r.RootID
		if ours && !isMember(cause.By.Goroutine) {
			t.Errorf("%s: %q is about a goroutine that the request did not create", name, r.Sentence())
		}
		if cause.In != nil && cause.In.RootID == r.RootID {
			t.Errorf("%s: %s waits for itself", name, r.Name)
		}
	}
	if strings.Contains(r.Sentence(), "waited for another request") {
		t.Errorf("%s: %q: the trace has the names of all requests", name, r.Sentence())
	}
}
