package otlpenc

import (
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/otlpwire"
)

// A LogRecord contains the data of a log record. A record with an EventName is an event. The
// record's [Group] contains the resource and the scope. The encoder omits zero fields. The encoder
// writes only the ids and the trace flags of SpanContext.
type LogRecord struct {
	Time              time.Time // of the event
	ObservedTime      time.Time // the time of the observation
	Severity          int       // OTLP's number, from 1 (TRACE) to 24 (FATAL4); others are omitted
	SeverityText      string
	EventName         string
	Body              attribute.Value
	SpanContext       trace.SpanContext // of the active span
	Attributes        []attribute.KeyValue
	DroppedAttributes int
}

const maxSeverity = 24 // FATAL4

// Append encodes r and appends one element of a ScopeLogs message: a tag, a length and the record.
// The encoded record contains the attributes in r and the attributes in detail. The attributes in
// detail must be plain: see [Plain]. detail must not repeat keys of r.
//
// Append allocates nothing if b is large enough. The exceptions are lists, maps, bytes, invalid
// UTF-8, and unsigned numbers above the range of int64.
func (r *LogRecord) Append(b []byte, detail []slog.Attr) []byte {
	b, start := otlpwire.BeginMessage(b, otlpwire.Items)
	b = otlpwire.AppendFixed64(b, logTime, otlpwire.Nanos(r.Time))
	b = otlpwire.AppendFixed64(b, logObservedTime, otlpwire.Nanos(r.ObservedTime))
	if r.Severity > 0 && r.Severity <= maxSeverity {
		b = append(b, byte(logSeverity), byte(r.Severity))
	}
	b = otlpwire.AppendText(b, logSeverityText, r.SeverityText)
	b = otlpwire.AppendText(b, logEventName, r.EventName)
	if r.Body.Type() != attribute.EMPTY {
		b = otlpwire.AppendValue(b, logBody, r.Body, 0)
	}
	b = otlpwire.AppendAttributes(b, logAttributes, r.Attributes, 0)
	b = appendDetail(b, logAttributes, detail)
	b = otlpwire.AppendCount(b, logDroppedAttributes, r.DroppedAttributes)
	if id := r.SpanContext.TraceID(); id.IsValid() {
		b = append(append(b, byte(logTraceID), byte(len(id))), id[:]...)
	}
	if id := r.SpanContext.SpanID(); id.IsValid() {
		b = append(append(b, byte(logSpanID), byte(len(id))), id[:]...)
	}
	if flags := r.SpanContext.TraceFlags(); flags != 0 {
		b = protowire.AppendFixed32(append(b, byte(logFlags)), uint32(flags))
	}
	return otlpwire.EndMessage(b, start)
}

// Records are encoded log records of one group. The rules for the bytes are the same as for
// [Spans]. The exported fields are part of the public API: see bridge.Records.
type Records struct {
	group *Group
	Bytes []byte // encoded records, one after the other
	Count int

	shared shared
}

// NewRecords returns a Records with the encoded log records in bytes. count is the number of log
// records.
func NewRecords(group *Group, bytes []byte, count int) Records {
	return Records{group: group, Bytes: bytes, Count: count}
}

// Group returns the group of the records.
func (r Records) Group() *Group { return r.group }

// Records returns a Records with the bytes of s, without a copy. Therefore a queue can cut and join
// spans with the methods of Records.
func (s Spans) Records() Records { return Records{s.group, s.Bytes, s.Count, s.shared} }

// Retain returns Records with the contents of r. The bytes of the result do not change until
// Release: see [Spans.Retain].
func (r Records) Retain() Records {
	r.Bytes, r.shared = r.shared.retain(r.Bytes)
	return r
}

// Clone returns a copy of r with a copy of the bytes. The copy needs no Release.
func (r Records) Clone() Records {
	r.Bytes, r.shared = slices.Clone(r.Bytes), shared{}
	return r
}

// Release ends the use of the bytes that Retain began: see [Spans.Release].
func (r Records) Release() { r.shared.release(r.Bytes) }

// RequestSize returns the length in bytes of a request with only these records.
func (r Records) RequestSize() int { return requestSize(r.group, len(r.Bytes)) }

// Join appends others to r without a copy. r must be retained. If Join returns true, others need no
// Retain. If one of these conditions fails, Join changes nothing and returns false:
//
//   - r and others belong to the same group.
//   - The bytes of others follow the bytes of r in the same block.
//   - Together, r and others contain at most count records.
//   - Together, r and others occupy at most the given number of bytes.
func (r *Records) Join(others Records, count, bytes int) bool {
	all := len(r.Bytes) + len(others.Bytes)
	if r.group != others.group || r.Count+others.Count > count || all > bytes ||
		!r.shared.holds(r.Bytes) || !others.shared.holds(others.Bytes) ||
		others.shared != r.shared.from(len(r.Bytes)) {
		return false
	}
	r.Bytes, r.Count = r.shared.block.bytes[r.shared.at:][:all:all], r.Count+others.Count
	return true
}

// Cut divides r into the first records and the other records. The result first contains at most
// count records, and occupies at most the given number of bytes. However, first contains at least
// one record, even if this record is larger. If all records fit into first, others is empty. Cut
// allocates nothing, and does not cut malformed records.
func (r Records) Cut(count, bytes int) (first, others Records) {
	if r.Count <= max(count, 1) && len(r.Bytes) <= bytes {
		return r, Records{}
	}
	rest := otlpwire.Fields(r.Bytes)
	for n := 0; len(rest) > 0; n++ {
		end := len(r.Bytes) - len(rest) // of the first n
		if _, err := nextItem(&rest); err != nil {
			break
		}
		if n > 0 && (n >= count || len(r.Bytes)-len(rest) > bytes) {
			return Records{r.group, r.Bytes[:end:end], n, r.shared},
				Records{r.group, r.Bytes[end:], max(r.Count-n, 1), r.shared.from(end)}
		}
	}
	return r, Records{}
}
