package counts

import (
	"maps"
	"slices"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/waits"
)

// Timeline returns the counts of a timeline's entries, by type of entry.
func Timeline(s observer.Stats) (t Table) {
	t.outcomes("perfline.entries", "{entry}", "entries of the timeline")
	for _, typ := range slices.Sorted(maps.Keys(s)) {
		of, n := string(typ), s[typ]
		t.row(grows, of, "recorded", n.Recorded, "taken")
		t.row(grows, of, "delivered", n.Delivered, "handed to observers, once for each")
		t.row(lost, of, "overflow", n.Overflow, "not on the full timeline")
		t.row(lost, of, "observer_full", n.ObserverFull, "dropped at an observer's full buffer")
		t.row(grows, of, "buffer_full", n.BufferFull,
			"not in the timeline's full buffer, but given to observers")
	}
	return t
}

// Bridge returns the counts of marks and spans. unlabelled is the number of spans that profiles do
// not contain.
func Bridge(s bridge.Stats, unlabelled uint64) (t Table) {
	t.outcomes("perfline.marks", "{mark}", "marks")
	t.add("span_event", s.MarkEvents, "marks that became events of their span")
	t.add("log_record", s.MarkRecords, "marks that became log records, and no exported events")
	t.add("without_span", s.MarksWithoutSpan,
		"marks made while no span was active: they are on the timeline only")
	t.lose("after_span_end", s.MarksAfterEnd, "marks made after their span's end: begin work "+
		"after the response with marks.StartJob")
	t.lose("under_noop_span", s.MarksUnderNoOp,
		"marks under a span of another package that records nothing")
	t.lose("over_event_limit", s.MarksOverLimit, "marks over their span's event limit")
	t.lose("span_never_ended", s.MarksOfOpenSpans, "marks of spans that did not end in time")
	t.lose("timeline_full", s.MarksDropped, "marks dropped at the full timeline")
	t.outcomes("perfline.spans", "{span}", "spans")
	t.add("measure", s.MeasureSpans, "spans made from measures")
	t.add("other", s.OtherSpans, "spans started by other code")
	t.one(lost, "perfline.panics", "{panic}", s.Panics, "panics of the program's code that "+
		"perfline called: outputs, processors, samplers, observers and the like")
	t.one(grows, "perfline.spans.under_unsampled", "{span}", s.SpansUnderUnsampled,
		"spans of sampled requests that the sampler dropped: a span above them, of another "+
			"provider, is not sampled")
	t.one(grows, "perfline.spans.off_timeline", "{span}", s.SpansOffTimeline,
		"spans missing on their request's timeline: too many were open")
	t.one(grows, "perfline.spans.unlabelled", "{span}", unlabelled,
		"spans missing in profiles: too many were open")
	return t
}

// Requests counts the decisions of a keep policy. n has the words of
// [bridge.TracerProvider.RequestCounts].
func Requests(n map[string]uint64) (t Table) {
	t.outcomes("perfline.requests", "{request}", "requests for which the keep policy decided")
	t.add("slow", n["slow"], "requests that are kept because they were slow")
	t.add("failed", n["failed"], "requests that are kept because they failed")
	t.add("chosen", n["chosen"], "requests that are kept because the program asked for it")
	t.add("error_inside", n["error_inside"],
		"requests that are kept because a span inside failed: the request itself did not")
	t.add("share", n["share"], "requests that are kept as a share of all others")
	t.add("over_ceiling", n["over_ceiling"],
		"requests over the ceiling: there was a reason to keep them")
	t.add("error_inside_over_ceiling", n["error_inside_over_ceiling"],
		"requests over the ceiling of requests with only an error inside")
	t.add("other", n["other"], "requests without a reason to keep them")
	t.one(grows, "perfline.requests.exported", "{request}", n["exported"],
		"requests that were not sampled and that were exported because they are kept")
	t.one(grows, "perfline.requests.untracked", "{request}", n["untracked"], "unsampled requests "+
		"that could not be kept: most spans of their instrumentation never end")
	t.one(grows, "perfline.requests.refused", "{entry}", n["refused"],
		"marks, measures and spans of unsampled requests that found no room in memory")
	t.one(grows, "perfline.requests.forgotten_calls", "{call}", n["forgotten_calls"],
		"open calls that were forgotten because too many were open: a request that such a call "+
			"sends to this process counts as a request of its own")
	return t
}

const full = " dropped at the full queue"

// OTLP returns the delivery counts of a signal. The argument what is the plural name of the items,
// such as "spans". The count "accepted" is the sum of "delivered", "failed", "dropped" and
// "pending".
func OTLP(signal, unit, what string, s exporter.Stats) (t Table) {
	name, dropped := "perfline.delivery."+signal, what+full
	if signal != "spans" { // other signals pause after a backend that does not know the signal
		dropped += ", or not known to the backend"
	}
	t.outcomes(name, unit, what+" on their way to the backend")
	t.add("accepted", s.Accepted, what+" given to the queue")
	t.add("delivered", s.Delivered, what+" that the backend accepted")
	t.lose("failed", s.Failed, what+" that the backend did not accept")
	t.lose("dropped", s.Dropped, dropped)
	t.pending(name, unit, s.Pending, what+" in the queue")
	t.one(grows, name+".unanswered", unit, s.Unanswered,
		"failed "+what+" that the backend may have: its answer did not arrive")
	t.one(grows, name+".retries", "{request}", s.Retries,
		"requests with "+what+" that were sent again")
	return t
}

// BlackBoxStats are the counts of a black box, and of the black boxes of earlier processes.
type BlackBoxStats struct {
	LeftOut     uint64 // requests without room in this process's file
	Overwritten uint64 // spans without room in this process's file

	Read    uint64         // files of earlier processes that were reported
	Unread  uint64         // files that cannot be read
	Older   uint64         // files that were removed unread
	Earlier exporter.Stats // spans of earlier processes
}

// BlackBox returns the counts of black boxes. What a file has no room for is no loss while the
// process lives.
func BlackBox(s BlackBoxStats) (t Table) {
	const name = "perfline.blackbox"
	t.one(grows, name+".left_out", "{request}", s.LeftOut,
		"open requests without room in the black box")
	t.one(grows, name+".overwritten", "{span}", s.Overwritten,
		"waiting spans without room in the black box")
	t.outcomes(name+".files", "{file}", "black boxes of earlier processes")
	t.add("read", s.Read, "black boxes of earlier processes that were reported")
	t.add("unread", s.Unread, "black boxes that cannot be read")
	t.add("older", s.Older, "old black boxes that were removed unread")
	t.outcomes(name+".spans", "{span}", "spans of earlier processes")
	t.add("accepted", s.Earlier.Accepted, "spans that earlier processes left for the backend")
	t.add("delivered", s.Earlier.Delivered, "spans of earlier processes that the backend accepted")
	t.lose("failed", s.Earlier.Failed, "spans of earlier processes that the backend did not accept")
	t.pending(name+".spans", "{span}", s.Earlier.Pending,
		"spans of earlier processes that wait for the backend")
	return t
}

// OTLPProfiles returns the delivery counts of profiles over OTLP. The count "failed" includes
// unanswered profiles.
func OTLPProfiles(s profiling.ExporterStats) Table {
	return OTLP("otlp_profiles", "{profile}", "profiles over OTLP", exporter.Stats{
		Accepted: s.Accepted, Delivered: s.Delivered, Failed: s.Refused + s.Unanswered,
		Dropped: s.Dropped, Pending: s.Pending, Unanswered: s.Unanswered, Retries: s.Retries,
	})
}

// Pyroscope returns the delivery counts of profiles to a Pyroscope server.
func Pyroscope(s profiling.ExporterStats) (t Table) {
	const name, unit = "perfline.delivery.profiles", "{profile}"
	t.outcomes(name, unit, "profiles on their way to Pyroscope")
	t.add("accepted", s.Accepted, "profiles given to the queue")
	t.add("delivered", s.Delivered, "profiles that the server accepted")
	t.lose("refused", s.Refused, "profiles that the server refused")
	t.lose("unanswered", s.Unanswered, "profiles that the server did not answer")
	t.lose("dropped", s.Dropped, "profiles"+full)
	t.pending(name, unit, s.Pending, "profiles in the queue")
	t.one(grows, name+".retries", "{request}", s.Retries,
		"requests with a profile that were sent again")
	return t
}

// Profiling returns the counts of continuous profiling. s and other are the counts of the exporters
// for Pyroscope and for OTLP. Both exporters count the same gaps and losses. Therefore, Profiling
// reports the larger of two counts, not the sum.
//
// perfline's exporters share one source of profiles. A program's exporter uses a separate source.
func Profiling(s, other profiling.ContinuousStats) (t Table) {
	s.Failed, s.PutOff = max(s.Failed, other.Failed), max(s.PutOff, other.PutOff)
	s.LostSamples = max(s.LostSamples, other.LostSamples)
	s.Gaps, s.GapTime = max(s.Gaps, other.Gaps), max(s.GapTime, other.GapTime)
	if s.State == "" {
		s.State, s.Engine, s.Fallback = other.State, other.Engine, other.Fallback
	}
	state(&t, "perfline.profiling.engine", "engine that samples: 1 for the one in use", s.Engine)
	if what := "samples for continuous profiling"; s.Engine != "" {
		if s.Fallback != "" {
			what += ", because cpu does not work: " + s.Fallback
		}
		t.row(now, "", string(s.Engine), 1, what)
	}
	t.one(lost, "perfline.profiling.failed", "{profile}", s.Failed,
		"profiles that could not be taken")
	t.one(grows, "perfline.profiling.put_off", "{profile}", s.PutOff,
		"profiles left out because their kind takes too much time")
	t.one(lost, "perfline.profiling.lost_samples", "{sample}", s.LostSamples,
		"samples that the engine lost")
	t.one(grows, "perfline.profiling.gaps", "{gap}", uint64(max(0, s.Gaps)),
		"times when nothing was sampled for a while")
	state(&t, "perfline.profiling.state", "state of profiling: 1 for the current one", s.State,
		profiling.Started, profiling.Paused, profiling.Stopped)
	t.metric("", "perfline.profiling.gap_time", seconds,
		"total time in which profiling sampled nothing")
	t.row(grows, "", "", uint64(s.GapTime), "")
	return t
}

// Waits returns the counts of the waits recorder: outcomes of slow requests, snapshots, results and
// times. current is the recorder's state.
func Waits(s waits.Stats, current waits.State) (t Table) {
	const name, unit = "perfline.waits.requests", "{request}"
	t.outcomes(name, unit, "slow requests given to the waits recorder")
	t.add("slow", s.Slow, "slow requests given to the waits recorder")
	t.add("analysed", s.Analysed, "slow requests that show what they waited for")
	t.add("not_armed", s.NotArmed,
		"slow requests that ended while the waits recorder was not armed")
	t.add("rate_limited", s.RateLimited, "slow requests that came too soon after a snapshot")
	t.add("abandoned", s.Abandoned, "slow requests that were in no snapshot in time")
	t.add("not_found", s.NotFound, "slow requests that are not in their snapshot")
	t.add("dropped", s.Dropped, "slow requests that gave way to slower or failed ones, because "+
		"too many waited for a snapshot")
	t.lose("failed", s.Failed, "slow requests whose snapshot or analysis failed")
	t.pending(name, unit, s.Pending, "slow requests that wait for a snapshot or its analysis")
	t.outcomes("perfline.waits.snapshots", "{snapshot}", "snapshots of the execution trace")
	t.add("written", s.Snapshots, "snapshots of the execution trace")
	t.add("failed", s.SnapshotsFailed, "snapshots that could not be written or were too large: "+
		"their requests count as failed, too")
	t.one(grows, "perfline.waits.snapshot_bytes", "By", s.SnapshotBytes, "bytes of all snapshots")
	t.one(grows, "perfline.waits.panics", "{panic}", s.Panics,
		"panics in the analysis of snapshots, or in functions that watch it")
	t.one(now, "perfline.waits.results", "{result}", s.Results, "results in memory")
	t.one(now, "perfline.waits.result_bytes", "By", s.ResultBytes,
		"approximate bytes of the results in memory")
	t.one(grows, "perfline.waits.too_large", "{result}", s.TooLarge, "results that lost their "+
		"goroutines for lack of memory: causes and sentence stay")
	t.one(grows, "perfline.waits.evicted", "{result}", s.Evicted,
		"results that gave way to the results of slower requests")
	state(&t, "perfline.waits.state", "state of the waits recorder: 1 for the current one",
		current.Status, waiting.Statuses()...)
	t.metric("perfline.activity", "perfline.waits.time", seconds, "total time in which the "+
		"waits recorder was armed, wrote snapshots, and analysed them")
	t.row(grows, "", "armed", uint64(s.Armed), "")
	t.row(grows, "", "writing", uint64(s.Writing), "")
	t.row(grows, "", "analysing", uint64(s.Analysing), "")
	return t
}

// AnnotationStats counts the local roots of slow requests that an exporter receives, by what became
// of the attributes about waits. Exported is the sum of the other counts.
type AnnotationStats struct {
	Exported, Annotated, Pending               uint64
	Late, TooMany, TooLarge, Flushed, NoResult uint64 // without attributes
}

// Annotations counts the exported local roots of slow requests.
func Annotations(s AnnotationStats) (t Table) {
	const name, unit = "perfline.waits.spans", "{span}"
	t.outcomes(name, unit, "exported root spans of slow requests")
	t.add("exported", s.Exported, "exported root spans of slow requests")
	t.add("annotated", s.Annotated, "root spans with the attributes perfline.cause")
	t.add("late", s.Late, "root spans without attributes: no result came within 20 s")
	t.add("flushed", s.Flushed, "root spans without attributes: a flush came before the result")
	t.add("no_result", s.NoResult, "root spans without attributes: there is no result")
	t.add("too_many", s.TooMany, "root spans without attributes: too many traces waited")
	t.add("too_large", s.TooLarge, "root spans without attributes: too many bytes waited")
	t.pending(name, unit, s.Pending, "root spans that wait for their result")
	return t
}

// Measures returns the counts of the histogram of measures: defects and series.
func Measures(s bridge.MeasureStats) (t Table) {
	t.outcomes("perfline.measures", "{measure}",
		"measures that the histogram of measures has without their attributes, or lost")
	t.add("overflow", s.Overflow,
		"measures that are in the histogram without their attributes: too many series")
	t.lose("panicked", s.Panics, "measures that the histogram lost: the meter provider panicked")
	t.one(now, "perfline.measures.series", "{series}", s.Series,
		"series of the histogram of measures")
	return t
}

// Recent returns the counts of the requests in memory, for the page.
func Recent(s requests.Stats) (t Table) {
	t.outcomes("perfline.recent", "", "requests in memory")
	t.add("requests", s.Requests, "requests that ended")
	t.add("background", s.Background,
		"root spans that are no request: calls and measures without one")
	t.add("spans_dropped", s.SpansDropped,
		"spans over the limit of their trace: their request says how many are missing")
	t.lose("abandoned", s.Abandoned, "running requests that lost the spans that had ended, "+
		"because too many such requests ran or their spans had too many bytes")
	t.add("late", s.Late, "spans of requests that were not in memory, mostly because the requests "+
		"had ended long before: begin such work with marks.StartJob")
	t.add("evicted", s.Evicted, "requests let go early, because their spans had too many bytes")
	t.row(now, "", "bytes", s.Bytes, "bytes of memory for spans")
	return t
}

// Sessions returns the counts of sessions, for the page. The keys of n are the names of the counts.
func Sessions(n map[string]uint64) (t Table) {
	t.outcomes("perfline.sessions", "", "sessions")
	t.add("started", n["started"], "sessions that began")
	t.add("stopped", n["stopped"], "sessions that were stopped")
	t.add("released", n["released"], "sessions that were released")
	t.add("expired", n["expired"], "sessions forgotten after their time")
	t.add("overlong", n["overlong"], "sessions that stopped by themselves at their greatest length")
	t.add("refused", n["refused"], "starts that failed")
	return t
}
