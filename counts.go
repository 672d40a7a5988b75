package perfline

import (
	"maps"
	"slices"
	"strings"

	"github.com/perfline/perfline/exporter"
)

// Counts are the same as Stats, one by one and with their names: what the metrics and the
// live page show. Those of a backend or of a server for profiles that is not there are not
// among them.
func (p *Pipeline) Counts() []exporter.Count { return p.exist(p.Stats().Counts()) }

// exist leaves out the groups of what is not there.
func (p *Pipeline) exist(counts []exporter.Count) []exporter.Count {
	return slices.DeleteFunc(counts, func(c exporter.Count) bool {
		switch {
		case strings.HasPrefix(c.Group, "perfline.delivery"):
			return p.delivery == nil
		case strings.HasPrefix(c.Group, "perfline.profil"):
			return p.profiles == nil
		}
		return false
	})
}

// engineGroup has one member, which is not a count: the engine in use.
const engineGroup = "perfline.profiling.engine"

// Counts lists the counts by group, each group in the order in which things happen. Each span of
// perfline.delivery has one outcome besides accepted. Counts of other things, and of parts of an outcome, are groups of
// their own.
func (s Stats) Counts() []exporter.Count {
	var all []exporter.Count
	for _, kind := range slices.Sorted(maps.Keys(s.Timeline)) {
		t := s.Timeline[kind]
		for _, c := range []exporter.Count{
			{Name: "recorded", N: t.Recorded, What: "taken"},
			{Name: "delivered", N: t.Delivered, What: "handed to observers, once for each"},
			{Name: "overflow", N: t.Overflow, Lost: true, What: "not on the full timeline"},
			{Name: "observer_full", N: t.ObserverFull, Lost: true, What: "dropped at an observer's full buffer"},
			{Name: "buffer_full", N: t.BufferFull, What: "not in the timeline's full buffer, but given to observers"},
		} {
			c.Group, c.Kind = "perfline.entries", string(kind)
			all = append(all, c)
		}
	}
	add := func(group string, counts ...exporter.Count) {
		for _, c := range counts {
			c.Group = group
			all = append(all, c)
		}
	}
	b, d, f := s.Bridge, s.Delivery, s.Profiles
	add("perfline.bridge",
		exporter.Count{Name: "event", N: b.MarkEvents, What: "marks that became events of their span"},
		exporter.Count{Name: "measure", N: b.MeasureSpans, What: "measures that became spans"},
		exporter.Count{Name: "span", N: b.OtherSpans, What: "other spans"},
		exporter.Count{Name: "unattached", N: b.MarksWithoutSpan, What: "marks that stay on the timeline: no span was active"},
		exporter.Count{Name: "unjoined", N: b.SpansOffTimeline, What: "spans that did not join their request's timeline: too many had not ended"},
		exporter.Count{Name: "unlabelled", N: s.UnlabelledSpans, What: "spans that profiles no longer know: too many had not ended"},
		exporter.Count{Name: "late", N: b.MarksAfterEnd, Lost: true, What: "marks made after their span's end"},
		exporter.Count{Name: "limited", N: b.MarksOverLimit, Lost: true, What: "marks over their span's event limit"},
		exporter.Count{Name: "aged_out", N: b.MarksOfOpenSpans, Lost: true, What: "marks of spans that never ended"},
		exporter.Count{Name: "refused", N: b.MarksDropped, Lost: true, What: "marks dropped at the full timeline"})
	add("perfline.delivery",
		exporter.Count{Name: "accepted", N: d.Accepted, What: "spans to be delivered"},
		exporter.Count{Name: "delivered", N: d.Delivered, What: "spans that the backend took"},
		exporter.Count{Name: "pending", N: d.Pending, Now: true, What: "spans that wait"},
		exporter.Count{Name: "failed", N: d.Failed, Lost: true, What: "spans not taken by the backend"},
		exporter.Count{Name: "dropped", N: d.Dropped, Lost: true, What: "spans dropped at the full queue"})
	add("perfline.delivery.unanswered",
		exporter.Count{N: d.Unanswered, What: "failed spans that the backend may have taken: its answer did not arrive"})
	add("perfline.delivery.retries",
		exporter.Count{N: d.Retries, What: "requests with spans that were sent again"})
	add("perfline.profiles",
		exporter.Count{Name: "accepted", N: f.Accepted, What: "profiles to be delivered"},
		exporter.Count{Name: "sent", N: f.Delivered, What: "profiles that the server took"},
		exporter.Count{Name: "pending", N: f.Pending, Now: true, What: "profiles that wait"},
		exporter.Count{Name: "refused", N: f.Refused, Lost: true, What: "profiles refused by the server"},
		exporter.Count{Name: "unanswered", N: f.Unanswered, Lost: true, What: "profiles that the server did not answer"},
		exporter.Count{Name: "overflow", N: f.Dropped, Lost: true, What: "profiles dropped at the full queue"},
		exporter.Count{Name: "failed", N: f.Failed, Lost: true, What: "profiles that could not be taken"})
	add("perfline.profiles.retries",
		exporter.Count{N: f.Retries, What: "requests with a profile that were sent again"})
	if f.Engine != "" {
		what := "samples for continuous profiling"
		if f.Fallback != "" {
			what += ", because cpu does not work: " + f.Fallback
		}
		add(engineGroup, exporter.Count{Name: string(f.Engine), N: 1, Now: true, What: what})
	}
	add("perfline.profiling.lost",
		exporter.Count{N: f.LostSamples, Lost: true, What: "samples that the engine could not keep"})
	add("perfline.profiling.gaps",
		exporter.Count{N: uint64(max(0, f.Gaps)), What: "times when nothing was sampled for a while"})
	return all
}
