package perfline

import (
	"fmt"
	"strings"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// Stats are a pipeline's counts, from the timeline to the backend.
type Stats struct {
	Timeline observer.Stats
	Bridge   bridge.Stats
	Delivery exporter.Stats  // zero without a backend
	Profiles pyroscope.Stats // zero without a server for profiles

	// Unlabelled is how many of the SDK's spans profiles no longer know, because too many had not ended. perfline's own
	// provider has no such bound.
	UnlabelledSpans uint64
}

// Stats collects what was recorded and returns the counts.
func (p *Pipeline) Stats() Stats {
	s := Stats{Timeline: p.timeline.Stats()}
	if p.tracing != nil {
		s.Bridge = p.tracing.stats()
		if p.tracing.labels != nil {
			s.UnlabelledSpans = p.tracing.labels.UnlabelledSpans()
		}
	}
	if p.delivery != nil {
		s.Delivery = p.delivery.Stats()
	}
	if p.profiles != nil {
		s.Profiles = p.profiles.Stats()
	}
	return s
}

// A LostError says what a pipeline has lost between its Start and its Shutdown. Marks count for the timeline: other
// pipelines that carry the same timeline at that time share them. Measures are spans.
type LostError struct {
	Spans    uint64   // not taken by the backend
	Marks    uint64   // that never reached a span
	Profiles uint64   // taken of the program and not by the server, or not for certain
	Causes   []string // such as "3 spans dropped at the full queue"
}

func (e *LostError) Error() string {
	return fmt.Sprintf("perfline: lost %d spans, %d marks and %d profiles: %s", e.Spans, e.Marks, e.Profiles, strings.Join(e.Causes, ", "))
}

// lost returns what was lost since before, nil if that is nothing.
func (s Stats) lost(before Stats) error {
	e := &LostError{}
	add := func(sum *uint64, now, then uint64, what string) {
		if now > then {
			*sum += now - then
			e.Causes = append(e.Causes, fmt.Sprintf("%d %s", now-then, what))
		}
	}
	d, b, o, f := s.Delivery, s.Bridge, before.Bridge, s.Profiles
	add(&e.Spans, d.Dropped, 0, "spans dropped at the full queue")
	add(&e.Spans, d.Failed, 0, "spans not taken by the backend")
	add(&e.Spans, d.Pending, 0, "spans given up at the deadline")
	add(&e.Marks, b.MarksDropped, o.MarksDropped, "marks dropped at the full timeline")
	add(&e.Marks, b.MarksAfterEnd, o.MarksAfterEnd, "marks made after their span's end")
	add(&e.Marks, b.MarksOverLimit, o.MarksOverLimit, "marks over their span's event limit")
	add(&e.Marks, b.MarksOfOpenSpans, o.MarksOfOpenSpans, "marks of spans that never ended")
	add(&e.Profiles, f.Refused, 0, "profiles refused by the server")
	add(&e.Profiles, f.Unanswered, 0, "profiles that the server did not answer")
	add(&e.Profiles, f.Dropped, 0, "profiles dropped at the full queue")
	add(&e.Profiles, f.Pending, 0, "profiles given up at the end")
	if len(e.Causes) == 0 {
		return nil
	}
	return e
}
