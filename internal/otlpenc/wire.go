package otlpenc

import "github.com/perfline/perfline/internal/otlpwire"

// Tags of OTLP's messages: a field's number and the type of its value. All tags but spanFlags have
// a single byte.
const (
	requestResources = 1<<3 | otlpwire.Prefixed // ResourceSpans, ResourceLogs

	spanTraceID           = 1<<3 | otlpwire.Prefixed
	spanSpanID            = 2<<3 | otlpwire.Prefixed
	spanTraceState        = 3<<3 | otlpwire.Prefixed
	spanParentSpanID      = 4<<3 | otlpwire.Prefixed
	spanName              = 5<<3 | otlpwire.Prefixed
	spanKind              = 6<<3 | otlpwire.Varint
	spanStart             = 7<<3 | otlpwire.Fixed64
	spanEnd               = 8<<3 | otlpwire.Fixed64
	spanAttributes        = 9<<3 | otlpwire.Prefixed
	spanDroppedAttributes = 10<<3 | otlpwire.Varint
	spanEvents            = 11<<3 | otlpwire.Prefixed
	spanDroppedEvents     = 12<<3 | otlpwire.Varint
	spanLinks             = 13<<3 | otlpwire.Prefixed
	spanDroppedLinks      = 14<<3 | otlpwire.Varint
	spanStatus            = 15<<3 | otlpwire.Prefixed
	spanFlags             = 16<<3 | otlpwire.Fixed32 // two bytes

	eventTime              = 1<<3 | otlpwire.Fixed64
	eventName              = 2<<3 | otlpwire.Prefixed
	eventAttributes        = 3<<3 | otlpwire.Prefixed
	eventDroppedAttributes = 4<<3 | otlpwire.Varint

	linkTraceID           = 1<<3 | otlpwire.Prefixed
	linkSpanID            = 2<<3 | otlpwire.Prefixed
	linkTraceState        = 3<<3 | otlpwire.Prefixed
	linkAttributes        = 4<<3 | otlpwire.Prefixed
	linkDroppedAttributes = 5<<3 | otlpwire.Varint
	linkFlags             = 6<<3 | otlpwire.Fixed32

	logTime              = 1<<3 | otlpwire.Fixed64
	logSeverity          = 2<<3 | otlpwire.Varint
	logSeverityText      = 3<<3 | otlpwire.Prefixed
	logBody              = 5<<3 | otlpwire.Prefixed
	logAttributes        = 6<<3 | otlpwire.Prefixed
	logDroppedAttributes = 7<<3 | otlpwire.Varint
	logFlags             = 8<<3 | otlpwire.Fixed32
	logTraceID           = 9<<3 | otlpwire.Prefixed
	logSpanID            = 10<<3 | otlpwire.Prefixed
	logObservedTime      = 11<<3 | otlpwire.Fixed64
	logEventName         = 12<<3 | otlpwire.Prefixed

	statusMessage = 2<<3 | otlpwire.Prefixed
	statusCode    = 3<<3 | otlpwire.Varint
)

// Bits of the flags of spans and links above the W3C's.
const (
	knowsRemote = 0x100 // isRemote is valid
	isRemote    = 0x200 // the parent is in another process
)

// Codes of a status.
const (
	statusOk    = 1
	statusError = 2
)
