package bridge

import "fmt"

// A MarkForm says what marks become if a [LogOutput] is set. Without one, they are span events in every form. OpenTelemetry is to replace
// span events with log records that have an EventName (OTEP 4430).
type MarkForm uint8

// The forms. Marks that cannot be span events become log records in every form: marks under no span or a remote one, and marks made
// after their span's end. Other numbers are as SpanEvents.
const (
	SpanEvents              MarkForm = iota // an event of its span
	LogRecords                              // a log record with the mark's name as EventName, and the ids of its span
	SpanEventsAndLogRecords                 // both
	markForms
)

// String returns span_events, log_records or both.
func (f MarkForm) String() string {
	if f >= markForms {
		return fmt.Sprintf("MarkForm(%d)", uint8(f))
	}
	return [markForms]string{"span_events", "log_records", "both"}[f]
}
