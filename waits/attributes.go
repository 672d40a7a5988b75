package waits

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// The names of attributes. The names of times go on with a kind, such as "perfline.time.channel_send".
const (
	timePrefix       = "perfline.time."
	causeDescription = "perfline.cause.description"
	causeKind        = "perfline.cause.kind"
)

// Attributes returns what is exported for a span of the request:
//
//   - perfline.time.KIND for each kind of state, as in perfline.time.channel_receive: the seconds of [Request.Times], in which
//     the span's goroutines were in states of the kind, without the spans inside. Kinds without time are missing.
//   - perfline.cause.kind, for the root: the kind of the largest cause.
//   - perfline.cause.description, for the root: the sentence of [Request.Sentence].
//
// It returns nothing for a span that the execution trace does not have.
func (r *Request) Attributes(span trace.SpanID) []attribute.KeyValue {
	var all []attribute.KeyValue
	for kind, took := range r.Times(span) {
		if took > 0 {
			all = append(all, attribute.Float64(timePrefix+attributeName(Kind(kind)), float64(took)/float64(time.Second)))
		}
	}
	if span == r.RootID && len(r.Causes) > 0 {
		all = append(all,
			attribute.String(causeKind, attributeName(r.Causes[0].Kind)),
			attribute.String(causeDescription, strings.ToValidUTF8(r.Sentence(), "\ufffd")))
	}
	return all
}

// attributeName returns the name of a kind as names of attributes are written: in lower case, with underscores between words.
func attributeName(k Kind) string {
	if k == WaitGroup {
		return "wait_group"
	}
	return strings.ToLower(strings.NewReplacer(" ", "_", "-", "_").Replace(k.String()))
}
