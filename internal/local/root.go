// Package local describes the end of a local root: of a span without a parent in this process. The
// span's maker passes a [Root] to the store of requests, to the counts of routes, to the keep
// policy and to the waits recorder.
package local

import (
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// A Class is the kind of work of a local root.
type Class uint8

// The classes of local roots.
const (
	Request      Class = iota // a unit of work: a request, a message, a job
	Stream                    // a request that lasts as long as its client stays
	Inner                     // a request that an open call of this process has sent
	Background                // a call or a measure without a request
	Housekeeping              // a pool of connections dials, checks or resets a connection

	Classes = iota // the number of classes
)

var classNames = [Classes][2]string{{"request", "requests"}, {"stream", "streams"},
	{"inner", "inner"}, {"background", "background"}, {"housekeeping", "housekeeping"}}

// String returns the name of the class, such as "stream".
func (c Class) String() string { return classNames[min(c, Housekeeping)][0] }

// Plural returns the plural of the class's name, such as "streams".
func (c Class) Plural() string { return classNames[min(c, Housekeeping)][1] }

// A Root describes an ended local root. A local root is a span without a parent in this process.
type Root struct {
	TraceID    trace.TraceID
	SpanID     trace.SpanID
	Name       string // at the end
	Class      Class
	Start, End time.Time // best with readings of the monotonic clock
	Failed     bool      // the status is Error
	Keep       KeepReason
	Refused    uint32 // spans that found no room in memory before the keep policy decided
}

// Took returns the duration of the local root.
func (r *Root) Took() time.Duration { return r.End.Sub(r.Start) }

// ClassOf returns the class of a local root. job and stream report whether the attributes
// record.JobKey and record.StreamKey are true.
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

// An ID identifies a span, such as a local root, by trace id and span id.
type ID struct {
	Trace trace.TraceID
	Span  trace.SpanID
}

// ID returns the trace id and the span id of r.
func (r Root) ID() ID { return ID{r.TraceID, r.SpanID} }
