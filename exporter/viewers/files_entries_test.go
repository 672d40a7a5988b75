package viewers

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// The same for sessions that are made of entries: of the process and of requests, with samples.
func TestFilesOfEntries(t *testing.T) {
	types := []observer.Type{observer.Mark, observer.Measure, observer.Navigation, observer.Resource, observer.Server, observer.GC}
	rapid.Check(t, func(t *rapid.T) {
		root := observer.NewTimeline(observer.TimelineOptions{})
		defer root.Close()
		timelines := []*observer.Timeline{root, root.NewChild(), root.NewChild()}
		for _, tl := range timelines[1:] {
			defer tl.Close()
		}
		var entries []observer.Entry
		for range rapid.IntRange(0, 12).Draw(t, "entries") {
			tl := timelines[rapid.IntRange(0, 2).Draw(t, "timeline")]
			typ := rapid.SampledFrom(types).Draw(t, "type")
			start, took := rapid.IntRange(0, 900).Draw(t, "start"), rapid.IntRange(0, 900).Draw(t, "length")
			if typ == observer.Mark {
				took = 0
			}
			e, err := tl.NewEntry(typ, anyText.Draw(t, "name"), time.Duration(start)*ms, time.Duration(took)*ms,
				slog.String(anyText.Draw(t, "key"), anyText.Draw(t, "value")), anyAttr.Draw(t, "attr"))
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		tr := aSession().trace
		tr.Origin = root.Origin()
		for i := range tr.Samples {
			tr.Samples[i].Timestamp = time.Duration(i) * 100 * ms
		}
		tr.Started, tr.Stopped = 0, 2*time.Second
		if rapid.Bool().Draw(t, "without samples") {
			tr = nil
		}
		s, err := sessions.Of(sessions.Recording{Started: root.Origin(), Length: 2 * time.Second, Entries: slices.Values(entries), Trace: tr})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := WriteFirefox(&b, s); err != nil {
			t.Fatal(err)
		}
		if err := checkFirefox(b.Bytes(), s); err != nil {
			t.Fatalf("firefox: %v\n%.3000s", err, b.Bytes())
		}
		var samples int
		for _, tl := range s.Timelines() {
			samples += len(slices.Collect(s.Samples(tl.ID)))
		}
		if tr == nil {
			tr = new(profile.Trace)
		}
		if samples != len(tr.Samples) {
			t.Fatalf("%d samples are in timelines, want all %d", samples, len(tr.Samples))
		}
		b.Reset()
		if err := WriteSpeedscope(&b, s); err != nil {
			t.Fatal(err)
		}
		if _, _, err := checkSpeedscope(b.Bytes()); err != nil {
			t.Fatalf("speedscope: %v\n%.3000s", err, b.Bytes())
		}
	})
}
