package setup

import (
	"fmt"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/text"
)

// outcome returns the count with a group and a name, or 0.
func (f *facts) outcome(group, name string) uint64 {
	for _, c := range f.counts {
		if c.Group == group && c.Name == name {
			return c.N
		}
	}
	return 0
}

const delivery = "perfline.delivery."

const otlpVariables = "Correct OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL and " +
	"OTEL_EXPORTER_OTLP_HEADERS, or the fields of perfline.Config in their place: " +
	"docs/variables.md. The log has the backend's error."

// signals describes the deliveries, by the ends of their groups.
var signals = []struct{ group, items, change string }{
	{"spans", "spans", otlpVariables},
	{"logs", "log records", otlpVariables},
	{"metrics", "metric points", otlpVariables},
	{"otlp_profiles", "profiles", otlpVariables},
	{"profiles", "profiles", "Correct PYROSCOPE_SERVER_ADDRESS and its user, password or tenant, " +
		"or perfline.Config.Profiles: docs/pyroscope.md. The log has the server's error."},
}

// neverDelivered finds backends that have accepted nothing, although perfline sent data.
func neverDelivered(f *facts) (all []Finding) {
	for _, s := range signals {
		group := delivery + s.group
		failed := f.outcome(group, "failed") + f.outcome(group, "refused")
		if s.group == "profiles" { // the other signals count unanswered items as failed
			failed += f.outcome(group, "unanswered")
		}
		retries := f.outcome(group+".retries", "")
		if f.outcome(group, "delivered") > 0 || failed+retries == 0 {
			continue
		}
		all = append(all, Finding{
			"delivery of " + s.group,
			fmt.Sprintf("The backend has accepted none of %d %s: %d failed, and perfline repeated %s.",
				f.outcome(group, "accepted"), s.items, failed, number(retries, "request")),
			s.change,
		})
	}
	return all
}

const leastTimed = 1000 // requests, for a statement about the slowest

// neverSlow finds fixed thresholds that no request comes near to: then the waits recorder finds no
// cause. A threshold relative to the usual duration is reached sooner or later.
func neverSlow(f *facts) []Finding {
	if !f.Waits {
		return nil
	}
	var n uint64
	var slowest, lowest time.Duration
	for _, r := range f.routes {
		threshold, ok := f.table.SlowFrom(r.Class, r.Route)
		switch {
		case ok && (threshold.Factor > 0 || threshold.From >= 0 && 2*r.Max >= threshold.From):
			return nil
		case !ok || threshold.From < 0 || r.Class == local.Inner: // a part of another request
			continue
		}
		n += r.Count
		slowest = max(slowest, r.Max)
		if lowest == 0 || threshold.From < lowest {
			lowest = threshold.From
		}
	}
	if n < leastTimed {
		return nil
	}
	return []Finding{{
		"threshold",
		fmt.Sprintf("The slowest of %d requests took %s, and a request is slow from %s on: no "+
			"request gets a cause.", n, text.Length(slowest), text.Length(lowest)),
		"Set a lower perfline.Config.Keep.Slow, or no Slow: the usual duration of each route " +
			"decides then: docs/keep.md.",
	}}
}

// limited finds spans that lost parts at the program's limits. The rule looks at requests in
// memory: a large request of the past is no fault of the set-up.
func limited(f *facts) (all []Finding) {
	limits := []struct {
		what, variable string
		of             func(*otlpenc.Span) int
	}{
		{"attributes", "ATTRIBUTE", func(s *otlpenc.Span) int { return s.DroppedAttributes }},
		{"events, such as marks,", "EVENT", func(s *otlpenc.Span) int { return s.DroppedEvents }},
		{"links", "LINK", func(s *otlpenc.Span) int { return s.DroppedLinks }},
	}
	add := func(requests, lost, n int, read, what, change string) {
		if n == 0 {
			return
		}
		kind, _, _ := strings.Cut(what, ",")
		all = append(all, Finding{
			"limit of " + kind,
			fmt.Sprintf("Of the %s in memory%s, %d lost %s at a limit of the program: %d in all.",
				number(requests, "request"), read, lost, what, n),
			"Raise " + change + ".",
		})
	}
	for _, l := range limits {
		lost, n := 0, 0
		for _, q := range f.whole {
			before := n
			for _, s := range q.Spans {
				n += l.of(s)
			}
			if n > before {
				lost++
			}
		}
		add(len(f.whole), lost, n, " that perfline has checked", l.what,
			"OTEL_SPAN_"+l.variable+"_COUNT_LIMIT: docs/variables.md")
	}
	n := 0
	for _, spans := range f.missing {
		n += spans
	}
	add(f.inMemory, f.incomplete, n, "", "spans",
		"perfline.Config.Recent.MaxSpans and Recent.MaxBytes: docs/keep.md#bounds")
	return all
}
