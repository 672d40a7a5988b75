package viewers_test

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/viewers"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/observer/observertest"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// The same for sessions of a recorder: entries of the process and of requests, and samples in any timeline.
func TestFilesOfEntries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := recordEntries(t)
		h := &handMade{
			length: s.Length(), stats: s.Stats(), timelines: s.Timelines(),
			events: map[sessions.TimelineID][]sessions.Event{}, samples: map[sessions.TimelineID][]profile.Sample{},
		}
		for _, tl := range h.timelines {
			h.events[tl.ID] = slices.Collect(s.All(tl.ID))
		}
		if len(h.timelines) > 0 && rapid.Bool().Draw(t, "samples") {
			h.trace = aSession().trace
			for i := range h.trace.Samples {
				h.trace.Samples[i].Timestamp = h.trace.Started + time.Duration(i)*100*ms
				tl := &h.timelines[rapid.IntRange(0, len(h.timelines)-1).Draw(t, "sampled timeline")]
				tl.Samples++
				h.samples[tl.ID] = append(h.samples[tl.ID], h.trace.Samples[i])
			}
		}
		var b bytes.Buffer
		if err := viewers.WriteRecordedFirefox(&b, h); err != nil {
			t.Fatal(err)
		}
		if err := checkFirefox(b.Bytes(), h); err != nil {
			t.Fatalf("firefox: %v\n%.3000s", err, b.Bytes())
		}
		b.Reset()
		if err := viewers.WriteRecordedSpeedscope(&b, h); err != nil {
			t.Fatal(err)
		}
		if _, _, err := checkSpeedscope(b.Bytes()); err != nil {
			t.Fatalf("speedscope: %v\n%.3000s", err, b.Bytes())
		}
	})
}

// recordEntries records a session of two seconds, by a clock that stands still while entries are recorded.
func recordEntries(t *rapid.T) *sessions.Session {
	clock := new(observertest.Clock)
	root := observer.NewTimeline(observer.TimelineOptions{Clock: clock.Now})
	defer root.Close()
	recorder := sessions.NewRecorder(sessions.Config{Timeline: root})
	defer recorder.Close()
	id, err := recorder.Start(t.Context(), sessions.StartOptions{NoSamples: true})
	if err != nil {
		t.Fatal(err)
	}
	timelines := []*observer.Timeline{root, root.NewChild(), root.NewChild()}
	for _, tl := range timelines[1:] {
		defer tl.Close()
	}
	types := []observer.Type{observer.Mark, observer.Measure, observer.Navigation, observer.Resource, observer.Server, observer.GC}
	n := rapid.IntRange(0, 12).Draw(t, "entries")
	for range n {
		tl := timelines[rapid.IntRange(0, 2).Draw(t, "timeline")]
		typ := rapid.SampledFrom(types).Draw(t, "type")
		start, took := rapid.IntRange(0, 900).Draw(t, "start"), rapid.IntRange(0, 900).Draw(t, "length")
		if typ == observer.Mark {
			took = 0
		}
		e, err := (*record.Timeline)(tl).NewEntry(record.Type(typ), anyText.Draw(t, "name"), time.Duration(start)*ms, time.Duration(took)*ms,
			slog.String(anyText.Draw(t, "key"), anyText.Draw(t, "value")), anyAttr.Draw(t, "attr"))
		if err != nil {
			t.Fatal(err)
		}
		(*record.Timeline)(tl).Queue(t.Context(), e)
	}
	root.Deliver()
	clock.Advance(2 * time.Second)
	s, err := recorder.Stop(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Stats().Entries; got < uint64(n) { // and what the runtime collects meanwhile
		t.Fatalf("%d of %d entries are in the session", got, n)
	}
	return s
}
