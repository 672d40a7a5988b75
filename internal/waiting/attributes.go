package waiting

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/waits"
)

// The names of attributes. A kind follows timePrefix, as in "perfline.time.channel_send".
const (
	timePrefix       = "perfline.time."
	causeDescription = "perfline.cause.description"
	causeKind        = "perfline.cause.kind"
)

// Attributes returns the attributes for an exported span of the request. If the execution trace
// lacks the span, Attributes returns nil. The attributes are:
//
//   - perfline.time.KIND for each kind of interval, as in perfline.time.channel_receive: the
//     seconds of [Times]. Kinds without time are missing.
//   - perfline.cause.kind, for the root: the kind of the largest cause. Without a known cause, the
//     attribute is missing.
//   - perfline.cause.description, for the root: the sentence of [waits.Request.Sentence].
//
// Attributes returns nil for a span that the execution trace lacks.
func Attributes(r *waits.Request, span trace.SpanID) []attribute.KeyValue {
	var all []attribute.KeyValue
	for kind, took := range Times(r, span) {
		if took > 0 {
			name := timePrefix + attributeName(waits.Kind(kind))
			all = append(all, attribute.Float64(name, float64(took)/float64(time.Second)))
		}
	}
	if span != r.RootID {
		return all
	}
	if len(r.Causes) > 0 {
		all = append(all, attribute.String(causeKind, attributeName(r.Causes[0].Kind)))
	}
	if sentence := r.Sentence(); sentence != "" {
		all = append(all, attribute.String(causeDescription, text.Valid(sentence)))
	}
	return all
}

// attributeName returns the name of a kind in lower case, with underscores between words.
func attributeName(k waits.Kind) string {
	if k == waits.WaitGroup {
		return "wait_group"
	}
	return strings.ToLower(strings.NewReplacer(" ", "_", "-", "_").Replace(k.String()))
}

// Times returns the time that the request's goroutines spent in each kind of interval for one span.
// The times exclude inner spans. The sum may exceed the span's duration if several goroutines
// worked for the span at the same time.
func Times(r *waits.Request, span trace.SpanID) (times [Kinds]time.Duration) {
	for i := range r.Goroutines {
		for j := range r.Goroutines[i].Intervals {
			interval := &r.Goroutines[i].Intervals[j]
			if interval.SpanID == span && interval.Kind < Kinds {
				times[interval.Kind] += interval.Duration()
			}
		}
	}
	return times
}
