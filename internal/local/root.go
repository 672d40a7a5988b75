// Package local says what the end of a local root is: of a span without a parent, or whose parent
// is in another process. Whoever makes the span knows the end, and tells it everyone: the store of
// requests, the counts of routes, the keep policy, and the recorder of waits.
package local

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// A Class says what a local root stands for.
type Class uint8

// The classes of local roots.
const (
	Request    Class = iota // a unit of work with an end of its own: a request, a message, a job
	Stream                  // a request that lasts as long as its client stays
	Background              // a call or a measure without a request
	// in the background, the work of a pool of connections itself: dialing, checking, resetting
	Housekeeping

	Classes = iota // how many classes there are
)

var classNames = [Classes][2]string{{"request", "requests"}, {"stream", "streams"},
	{"background", "background"}, {"housekeeping", "housekeeping"}}

// String returns the name of a class, such as "stream".
func (c Class) String() string { return classNames[min(c, Housekeeping)][0] }

// Plural returns the name of a class in plural, such as "streams".
func (c Class) Plural() string { return classNames[min(c, Housekeeping)][1] }

// A Root is the end of a local root: a span without a parent, or whose parent is in another
// process. Whoever makes the span knows its end, and tells it beside the encoded spans.
type Root struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Name       string // at the end
	Class      Class
	Start, End time.Time // best with readings of the monotonic clock
	Failed     bool      // the status is Error
	Keep       KeepReason
	// spans of the request that had no room in memory before it was decided whether they are kept
	Refused uint32
}

// Took returns the duration.
func (r *Root) Took() time.Duration { return r.End.Sub(r.Start) }

// ClassOf returns the class of a local root with that kind and name. job and stream say that the
// root has the attribute of that name.
func ClassOf(kind trace.SpanKind, name string, job, stream bool) Class {
	switch {
	case !job && kind != trace.SpanKindServer && kind != trace.SpanKindConsumer:
		if isHousekeeping(name) {
			return Housekeeping
		}
		return Background
	case stream:
		return Stream
	default:
		return Request
	}
}

// housekeeping has names of spans that pools of connections make: of packages otelsql (two of that
// name), redisotel and otelpgx. Names that other programs use as well, such as "connect", are in
// the background.
var housekeeping = []string{
	"sql.connector.connect", "sql.conn.reset_session", "sql.conn.ping",
	"db.Connect", "db.Ping",
	"redis.dial",
	"pool.acquire", "pgxpool.acquire",
}

func isHousekeeping(name string) bool {
	for _, known := range housekeeping {
		if len(name) == len(known) && strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}

// An ID identifies a local root, or any span.
type ID struct {
	Trace trace.TraceID
	Span  trace.SpanID
}

// ID returns the id of r.
func (r Root) ID() ID { return ID{r.TraceID, r.SpanID} }
