package perfline

import (
	"maps"
	"slices"
	"strings"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/sessioncounts"
)

// Counts returns Stats as a list, and the counts of the requests in memory and of sessions. It
// leaves out the counts of a delivery, of profiling or of a flight recorder that this pipeline does
// not have.
func (p *Pipeline) Counts() []exporter.Count {
	all := countList(p.present(p.Stats().Counts()))
	r := p.recent.Stats()
	all.add("perfline.recent",
		exporter.Count{Name: "requests", N: r.Requests, What: "requests that ended"},
		exporter.Count{Name: "background", N: r.Background,
			What: "root spans that are no request: calls and measures without one"},
		exporter.Count{Name: "spans_dropped", N: r.SpansDropped, Lost: true,
			What: "spans over the limit of their trace, not in memory"},
		exporter.Count{Name: "abandoned", N: r.Abandoned, Lost: true,
			What: "traces let go before their request ended, not in memory"},
		exporter.Count{Name: "evicted", N: r.Evicted, Lost: true,
			What: "requests let go early, because their spans had too many bytes"},
		exporter.Count{Name: "bytes", N: r.Bytes, Now: true, What: "bytes of memory for spans"})
	s := sessioncounts.Of(p.sessions)
	all.add("perfline.sessions",
		exporter.Count{Name: "started", N: s.Started, What: "sessions that began"},
		exporter.Count{Name: "stopped", N: s.Stopped, What: "sessions that were stopped"},
		exporter.Count{Name: "released", N: s.Released, What: "sessions that were released"},
		exporter.Count{Name: "expired", N: s.Expired, What: "sessions forgotten after their time"},
		exporter.Count{Name: "overlong", N: s.Overlong,
			What: "sessions that stopped by themselves at their greatest length"},
		exporter.Count{Name: "refused", N: s.Refused, What: "starts that failed"})
	return all
}

// A countList is a list of counts that is being made.
type countList []exporter.Count

// add appends the counts of a group.
func (l *countList) add(group string, counts ...exporter.Count) {
	for _, c := range counts {
		c.Group = group
		*l = append(*l, c)
	}
}

// present leaves out the groups of parts that the pipeline does not have.
func (p *Pipeline) present(counts []exporter.Count) []exporter.Count {
	return slices.DeleteFunc(counts, func(c exporter.Count) bool {
		switch {
		case strings.HasPrefix(c.Group, "perfline.delivery.spans"):
			return p.delivery == nil
		case strings.HasPrefix(c.Group, "perfline.delivery.logs"):
			return p.logs == nil
		case strings.HasPrefix(c.Group, "perfline.requests"):
			return p.tracing == nil || !p.tracing.keeps
		case strings.HasPrefix(c.Group, "perfline.delivery.metrics"):
			return p.points == nil
		case strings.HasPrefix(c.Group, "perfline.delivery.profiles"):
			return p.profiles == nil
		case strings.HasPrefix(c.Group, "perfline.delivery.otlp_profiles"):
			return p.exported == nil
		case strings.HasPrefix(c.Group, "perfline.profiling"):
			return p.profiles == nil && p.exported == nil
		case strings.HasPrefix(c.Group, "perfline.waits"):
			return p.waits == nil
		case strings.HasPrefix(c.Group, measuresGroup):
			return p.measures == nil
		}
		return false
	})
}

// engineGroup has one member, which is not a count: the engine in use.
const engineGroup = "perfline.profiling.engine"

// Counts lists the counts by group, each group in the order in which its outcomes happen. The
// outcomes of perfline.marks, of perfline.spans and of a delivery are disjoint, except accepted,
// which is the sum of the delivery's other outcomes.
func (s Stats) Counts() []exporter.Count {
	var all countList
	for _, kind := range slices.Sorted(maps.Keys(s.Timeline)) {
		t := s.Timeline[kind]
		for _, c := range []exporter.Count{
			{Name: "recorded", N: t.Recorded, What: "taken"},
			{Name: "delivered", N: t.Delivered, What: "handed to observers, once for each"},
			{Name: "overflow", N: t.Overflow, Lost: true, What: "not on the full timeline"},
			{Name: "observer_full", N: t.ObserverFull, Lost: true,
				What: "dropped at an observer's full buffer"},
			{Name: "buffer_full", N: t.BufferFull,
				What: "not in the timeline's full buffer, but given to observers"},
		} {
			c.Group, c.Kind = "perfline.entries", string(kind)
			all = append(all, c)
		}
	}
	b, f := s.Bridge, s.Profiles
	all.add("perfline.marks",
		exporter.Count{Name: "span_event", N: b.MarkEvents,
			What: "marks that became events of their span"},
		exporter.Count{Name: "log_record", N: b.MarkRecords,
			What: "marks that became log records, and no exported events"},
		exporter.Count{Name: "without_span", N: b.MarksWithoutSpan,
			What: "marks made while no span was active: they are on the timeline only"},
		exporter.Count{Name: "after_span_end", N: b.MarksAfterEnd, Lost: true,
			What: "marks made after their span's end"},
		exporter.Count{Name: "over_event_limit", N: b.MarksOverLimit, Lost: true,
			What: "marks over their span's event limit"},
		exporter.Count{Name: "span_never_ended", N: b.MarksOfOpenSpans, Lost: true,
			What: "marks of spans that did not end in time"},
		exporter.Count{Name: "timeline_full", N: b.MarksDropped, Lost: true,
			What: "marks dropped at the full timeline"})
	all.add("perfline.spans",
		exporter.Count{Name: "measure", N: b.MeasureSpans, What: "spans made from measures"},
		exporter.Count{Name: "other", N: b.OtherSpans, What: "spans started by other code"})
	all.add("perfline.panics",
		exporter.Count{N: b.Panics, Lost: true,
			What: "panics of the program's code that perfline called: outputs, processors, samplers, observers and the like"})
	all.add("perfline.requests",
		exporter.Count{Name: "slow", N: b.Requests.Slow,
			What: "requests that are kept because they were slow"},
		exporter.Count{Name: "failed", N: b.Requests.Failed,
			What: "requests that are kept because they failed"},
		exporter.Count{Name: "chosen", N: b.Requests.Chosen,
			What: "requests that are kept because the program asked for it"},
		exporter.Count{Name: "share", N: b.Requests.Share,
			What: "requests that are kept as a share of all others"},
		exporter.Count{Name: "over_ceiling", N: b.Requests.OverCeiling,
			What: "requests over the ceiling: there was a reason to keep them"},
		exporter.Count{Name: "other", N: b.Requests.Others,
			What: "requests without a reason to keep them"})
	all.add("perfline.requests.exported",
		exporter.Count{N: b.Requests.Exported,
			What: "requests that were not sampled and that were exported because they are kept"})
	all.add("perfline.requests.untracked",
		exporter.Count{N: b.Requests.Untracked,
			What: "unsampled requests that could not be kept: most spans of their instrumentation never end"})
	all.add("perfline.requests.refused",
		exporter.Count{N: b.Requests.Refused,
			What: "marks, measures and spans of unsampled requests that found no room in memory"})
	all.add("perfline.spans.off_timeline",
		exporter.Count{N: b.SpansOffTimeline,
			What: "spans missing on their request's timeline: too many were open"})
	all.add("perfline.spans.unlabelled",
		exporter.Count{N: s.UnlabelledSpans, What: "spans missing in profiles: too many were open"})
	all.add("perfline.delivery.spans", delivered("spans", full, s.Delivery)...)
	all.add("perfline.delivery.spans.unanswered",
		exporter.Count{N: s.Delivery.Unanswered,
			What: "failed spans that the backend may have: its answer did not arrive"})
	all.add("perfline.delivery.spans.retries",
		exporter.Count{N: s.Delivery.Retries, What: "requests with spans that were sent again"})
	all.add("perfline.delivery.logs", delivered("log records", fullOrUnknown, s.Logs)...)
	all.add("perfline.delivery.logs.unanswered",
		exporter.Count{N: s.Logs.Unanswered,
			What: "failed log records that the backend may have: its answer did not arrive"})
	all.add("perfline.delivery.logs.retries",
		exporter.Count{N: s.Logs.Retries, What: "requests with log records that were sent again"})
	all.add("perfline.delivery.metrics", delivered("metric points", fullOrUnknown, s.Metrics)...)
	all.add("perfline.delivery.metrics.unanswered",
		exporter.Count{N: s.Metrics.Unanswered,
			What: "failed metric points that the backend may have: its answer did not arrive"})
	all.add("perfline.delivery.metrics.retries",
		exporter.Count{N: s.Metrics.Retries, What: "requests with metrics that were sent again"})
	all.add("perfline.delivery.profiles",
		exporter.Count{Name: "accepted", N: f.Accepted, What: "profiles given to the queue"},
		exporter.Count{Name: "delivered", N: f.Delivered,
			What: "profiles that the server accepted"},
		exporter.Count{Name: "pending", N: f.Pending, Now: true, What: "profiles in the queue"},
		exporter.Count{Name: "refused", N: f.Refused, Lost: true,
			What: "profiles that the server refused"},
		exporter.Count{Name: "unanswered", N: f.Unanswered, Lost: true,
			What: "profiles that the server did not answer"},
		exporter.Count{Name: "dropped", N: f.Dropped, Lost: true,
			What: "profiles dropped at the full queue"})
	all.add("perfline.delivery.profiles.retries",
		exporter.Count{N: f.Retries, What: "requests with a profile that were sent again"})
	s.otlpProfileCounts(&all)
	taken := s.profiling()
	if taken.Engine != "" {
		what := "samples for continuous profiling"
		if taken.Fallback != "" {
			what += ", because cpu does not work: " + taken.Fallback
		}
		all.add(engineGroup,
			exporter.Count{Name: string(taken.Engine), N: 1, Now: true, What: what})
	}
	all.add("perfline.profiling.failed",
		exporter.Count{N: taken.Failed, Lost: true, What: "profiles that could not be taken"})
	all.add("perfline.profiling.put_off",
		exporter.Count{N: taken.PutOff,
			What: "profiles left out because their kind takes too much time"})
	all.add("perfline.profiling.lost_samples",
		exporter.Count{N: taken.LostSamples, Lost: true, What: "samples that the engine lost"})
	all.add("perfline.profiling.gaps",
		exporter.Count{N: uint64(max(0, taken.Gaps)),
			What: "times when nothing was sampled for a while"})
	w := s.Waits
	all.add("perfline.waits.requests",
		exporter.Count{Name: "slow", N: w.Slow, What: "slow requests given to the flight recorder"},
		exporter.Count{Name: "analysed", N: w.Analysed,
			What: "slow requests that show what they waited for"},
		exporter.Count{Name: "pending", N: w.Pending, Now: true,
			What: "slow requests that wait for a snapshot or its analysis"},
		exporter.Count{Name: "not_armed", N: w.NotArmed,
			What: "slow requests that ended while the flight recorder was not armed"},
		exporter.Count{Name: "rate_limited", N: w.RateLimited,
			What: "slow requests that came too soon after a snapshot"},
		exporter.Count{Name: "abandoned", N: w.Abandoned,
			What: "slow requests that were in no snapshot in time"},
		exporter.Count{Name: "not_found", N: w.NotFound,
			What: "slow requests that are not in their snapshot"},
		exporter.Count{Name: "dropped", N: w.Dropped, Lost: true,
			What: "slow requests over the number that may wait for a snapshot"},
		exporter.Count{Name: "failed", N: w.Failed, Lost: true,
			What: "slow requests whose snapshot or analysis failed"})
	all.add("perfline.waits.snapshots",
		exporter.Count{Name: "written", N: w.Snapshots, What: "snapshots of the execution trace"},
		exporter.Count{Name: "failed", N: w.SnapshotsFailed, Lost: true,
			What: "snapshots that could not be written or were too large"})
	all.add("perfline.waits.snapshot_bytes",
		exporter.Count{N: w.SnapshotBytes, What: "bytes of all snapshots"})
	all.add("perfline.waits.panics",
		exporter.Count{N: w.Panics, Lost: true,
			What: "panics in the analysis of snapshots, or in functions that watch it"})
	all.add("perfline.waits.results",
		exporter.Count{N: w.Results, Now: true, What: "results in memory"})
	all.add("perfline.waits.result_bytes",
		exporter.Count{N: w.ResultBytes, Now: true,
			What: "approximate bytes of the results in memory"})
	all.add("perfline.waits.too_large",
		exporter.Count{N: w.TooLarge,
			What: "results kept without their goroutines, which had too many intervals: causes and sentence stay"})
	all.add("perfline.waits.evicted",
		exporter.Count{N: w.Evicted,
			What: "results that newer ones replaced, or that were too large"})
	return append(all, measureCounts(s.Measures)...)
}

// The causes of dropped items. Signals other than traces pause after a backend that does not know
// them.
const (
	full          = " dropped at the full queue"
	fullOrUnknown = full + ", or not known to the backend"
)

// delivered lists the outcomes of a delivery over OTLP. The outcomes besides accepted are disjoint
// and add up to it.
func delivered(what, dropped string, s exporter.Stats) []exporter.Count {
	return []exporter.Count{
		{Name: "accepted", N: s.Accepted, What: what + " given to the queue"},
		{Name: "delivered", N: s.Delivered, What: what + " that the backend accepted"},
		{Name: "pending", N: s.Pending, Now: true, What: what + " in the queue"},
		{Name: "failed", N: s.Failed, Lost: true, What: what + " that the backend did not accept"},
		{Name: "dropped", N: s.Dropped, Lost: true, What: what + dropped},
	}
}
