package bridge

import (
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
)

// Spans are encoded spans of one trace, which have a resource and an instrumentation scope in
// common. An [Output] takes them. They have three fields:
//
//   - TraceID, of type trace.TraceID.
//   - Bytes, a []byte: the spans, one after the other, each as the field spans of OTLP's message
//     ScopeSpans. So proto.Unmarshal of Bytes as a ScopeSpans decodes them.
//   - Count, an int: how many spans Bytes has, at least 1.
//
// A function that gets Spans may read them until it returns, and must not change Bytes. A function
// that needs the spans longer calls Clone. Several goroutines may read the same Spans.
// Spans that a program makes itself have no resource and no scope, and outputs of perfline drop
// them.
type Spans otlpenc.Spans

// Scope returns the instrumentation scope of the spans: the name, version and attributes of the
// tracer.
func (s Spans) Scope() instrumentation.Scope { return scopeOf((*otlpenc.Spans)(&s).Group()) }

// Resource returns the resource of the spans, which describes the process. It is nil if they have
// none.
func (s Spans) Resource() *resource.Resource { return resourceOf((*otlpenc.Spans)(&s).Group()) }

// Root returns the end of the local root, which is the last one of the spans. It is nil if the
// local root is not among them: the spans of a request come as several Spans, one for each scope,
// and as more of them if they are many or ended long before the root. Each call allocates a new
// Root.
func (s Spans) Root() *Root {
	end := (*otlpenc.Spans)(&s).Root()
	if end == nil {
		return nil
	}
	root := publicRoot(end)
	return &root
}

// Clone returns a copy with bytes of its own, which the caller may keep and change.
func (s Spans) Clone() Spans { return Spans(otlpenc.Spans(s).Clone()) }

// Records are encoded log records, which have a resource and an instrumentation scope in common. A
// [LogOutput] takes them. They have two fields:
//
//   - Bytes, a []byte: the records, one after the other, each as the field log_records of OTLP's
//     message ScopeLogs. So proto.Unmarshal of Bytes as a ScopeLogs decodes them.
//   - Count, an int: how many records Bytes has, at least 1.
//
// The rules for Bytes are those of [Spans].
type Records otlpenc.Records

// Scope returns the instrumentation scope of the records: the name, version and attributes of the
// logger.
func (r Records) Scope() instrumentation.Scope { return scopeOf(otlpenc.Records(r).Group()) }

// Resource returns the resource of the records, which describes the process. It is nil if they have
// none.
func (r Records) Resource() *resource.Resource { return resourceOf(otlpenc.Records(r).Group()) }

// Clone returns a copy with bytes of its own, which the caller may keep and change.
func (r Records) Clone() Records { return Records(otlpenc.Records(r).Clone()) }

func scopeOf(g *otlpenc.Group) instrumentation.Scope {
	if g == nil {
		return instrumentation.Scope{}
	}
	return g.Scope()
}

func resourceOf(g *otlpenc.Group) *resource.Resource {
	if g == nil {
		return nil
	}
	return g.Resource()
}

// A Root says how a local root ended. A local root is a span without a parent, or with a parent in
// another process. [Spans.Root] returns a Root, and TracerProviderConfig.OnSlow and a
// waits.Recorder get one. A Root is a value without memory in common with the provider: a program
// may keep it.
type Root struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID

	// Name is the span's name at its end. Of a request, it is the route, such as "GET /items/{id}".
	// It is what the program gave, and may be text that is not UTF-8.
	Name string

	// Class says what the local root stands for:
	//
	//   - "request": a unit of work with an end of its own, which is a span of kind server or
	//     consumer or a job of marks.StartJob
	//   - "stream": a request that lasts as long as its client stays
	//   - "background": a call or a measure without a request
	//   - "housekeeping": in the background, work of a pool of connections, such as dialing or
	//     checking
	Class string

	// Start and End have readings of the monotonic clock if the span has them: then End.Sub(Start)
	// is the duration, also when the system's clock was set meanwhile.
	Start, End time.Time

	Failed bool // the span's status is Error

	// Keep is the reason why a [KeepPolicy] keeps the request: "chosen", "failed", "slow" or
	// "share". It is "" for a request that is not kept, for another class than "request" and
	// "stream", and without a policy.
	Keep string

	// Refused is the number of marks, measures and spans of the request that had no room in memory
	// before the policy decided. It is 0 in OnSlow, and for a request that the sampler sampled.
	Refused uint32
}

// publicRoot returns the end of a local root as the program's code gets it.
func publicRoot(r *local.Root) Root {
	return Root{
		TraceID: r.TraceID, SpanID: r.SpanID, Name: r.Name, Class: r.Class.String(),
		Start: r.Start, End: r.End, Failed: r.Failed, Keep: r.Keep.String(), Refused: r.Refused,
	}
}
