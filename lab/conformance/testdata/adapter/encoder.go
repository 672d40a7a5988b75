package adapter

import "github.com/perfline/perfline/internal/otlpenc"

// The encoder's types.
type (
	Spans     = otlpenc.Spans
	Records   = otlpenc.Records
	Groups    = otlpenc.Groups
	Snapshot  = otlpenc.Snapshot
	Extra     = otlpenc.Extra
	LogRecord = otlpenc.LogRecord
)

// NewSpans returns one span that is encoded.
func NewSpans(group *otlpenc.Group, span []byte) Spans { return otlpenc.NewSpans(group, span, 1) }

// NewRecords returns one record that is encoded.
func NewRecords(group *otlpenc.Group, record []byte) Records {
	return otlpenc.NewRecords(group, record, 1)
}

// SpansRequest appends the request that has the spans.
func SpansRequest(dst []byte, spans []Spans) []byte { return otlpenc.AppendRequest(dst, spans) }

// LogsRequest appends the request that has the records.
func LogsRequest(dst []byte, records []Records) []byte { return otlpenc.AppendRequest(dst, records) }
