// Package local describes the end of a local root. A local root is a span without a parent in this
// process. The tracing system passes a [Root] to the store of requests and to the counts of routes.
// The keep policy and the waits recorder also receive the Root.
package local

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// A Class is the kind of work of a local root, such as a request or a stream.
type Class uint8

// The classes of local roots.
const (
	Request      Class = iota // a unit of work: a request, a message, a job
	Stream                    // a request that lasts until the client leaves
	Inner                     // a request that an open call of this process has sent
	Background                // a call or a measure without a request
	Housekeeping              // a pool of connections dials, checks or resets a connection

	Classes = iota // the number of classes
)

var classNames = [Classes][2]string{{"request", "requests"}, {"stream", "streams"},
	{"inner", "inner"}, {"background", "background"}, {"housekeeping", "housekeeping"}}

// String returns the name of the class in the singular, such as "stream".
func (c Class) String() string { return classNames[min(c, Housekeeping)][0] }

// Plural returns the name of the class in the plural, such as "streams".
func (c Class) Plural() string { return classNames[min(c, Housekeeping)][1] }

// A Root describes an ended local root. A local root is a span without a parent in this process.
type Root struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Name       string // name at the end of the span
	Class      Class
	Message    bool      // the root is no server span: of the class Request, a message or a job
	Start, End time.Time // preferably with readings of the monotonic clock
	Failed     bool      // the status of the span is Error
	Keep       KeepReason
	Refused    uint32 // number of spans lost for lack of memory before the keep policy decided
}

// Took returns the duration of the local root.
func (r *Root) Took() time.Duration { return r.End.Sub(r.Start) }

// ClassOf returns the class of a local root. job is the value of the attribute record.JobKey.
// stream is the value of the attribute record.StreamKey.
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

// housekeeping lists names of spans from pools of connections: of packages otelsql (two of that
// name), redisotel and otelpgx. housekeeping lacks names that other programs use, too, such as
// "connect".
var housekeeping = []string{
	"sql.connector.connect", "sql.conn.reset_session", "sql.conn.ping",
	"db.Connect", "db.Ping",
	"redis.dial",
	"pool.acquire", "pgxpool.acquire",
}

func isHousekeeping(name string) bool {
	return slices.ContainsFunc(housekeeping, func(known string) bool {
		return len(name) == len(known) && strings.EqualFold(name, known)
	})
}

// LeftStream is the description of a status. The client left after the handler had flushed a part
// of a response of unknown length. The response may be a stream that the middleware does not know.
const LeftStream = "the client left after a part of the answer: " +
	"for a stream, call bridgehttp.SetStream"

// An ID identifies a span by the trace id and the span id.
type ID struct {
	Trace trace.TraceID
	Span  trace.SpanID
}

// ID returns the trace id and the span id of r.
func (r Root) ID() ID { return ID{r.TraceID, r.SpanID} }
