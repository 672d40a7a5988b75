package bridge

import (
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
)

// Spans are encoded spans of one trace with the same resource and instrumentation scope. An
// [Output] receives Spans. The three fields are:
//
//   - TraceID, a trace.TraceID.
//   - Bytes, a []byte: the concatenated spans. Each span is encoded as the field spans of OTLP's
//     message ScopeSpans. proto.Unmarshal decodes Bytes as a ScopeSpans.
//   - Count, an int: the number of spans in Bytes, at least 1.
//
// A function with a parameter of type Spans may read the Spans until the function returns. The
// function must not change Bytes. Clone returns a copy that stays valid. Several goroutines may
// read the same Spans. perfline's outputs drop Spans that a program created, because such Spans
// contain no resource and no scope.
type Spans otlpenc.Spans

// Scope returns the instrumentation scope of the spans: the name, version and attributes of the
// tracer.
func (s Spans) Scope() instrumentation.Scope { return scopeOf((*otlpenc.Spans)(&s).Group()) }

// Resource returns the resource that describes the process. Resource returns nil for Spans that a
// program created.
func (s Spans) Resource() *resource.Resource { return resourceOf((*otlpenc.Spans)(&s).Group()) }

// Root returns the Root of the local root, or nil if the Spans do not contain the local root. The
// local root is always the last span. Each call allocates a new Root.
//
// The spans of a request arrive as several Spans: at least one for each scope, and more in two
// cases:
//
//   - The request contains many spans.
//   - Spans ended long before the local root.
func (s Spans) Root() *Root {
	end := (*otlpenc.Spans)(&s).Root()
	if end == nil {
		return nil
	}
	root := publicRoot(end)
	return &root
}

// Clone returns a copy that shares no bytes with the original. The caller may retain and change the
// copy.
func (s Spans) Clone() Spans { return Spans(otlpenc.Spans(s).Clone()) }

// Records are encoded log records with the same resource and instrumentation scope. A [LogOutput]
// receives Records. The two fields are:
//
//   - Bytes, a []byte: the concatenated records. Each record is encoded as the field log_records of
//     OTLP's message ScopeLogs. proto.Unmarshal decodes Bytes as a ScopeLogs.
//   - Count, an int: the number of records in Bytes, at least 1.
//
// The rules for reading and retaining [Spans] also apply to Records.
type Records otlpenc.Records

// Scope returns the instrumentation scope of the records: the name, version and attributes of the
// logger.
func (r Records) Scope() instrumentation.Scope { return scopeOf(otlpenc.Records(r).Group()) }

// Resource returns the resource that describes the process. Resource returns nil for Records that a
// program created.
func (r Records) Resource() *resource.Resource { return resourceOf(otlpenc.Records(r).Group()) }

// Clone returns a copy that shares no bytes with the original. The caller may retain and change the
// copy.
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

// A Root describes a local root that has ended. A local root is a span without a parent, or a span
// with a parent in another process. [Spans.Root], TracerProviderConfig.OnSlow and a waits.Recorder
// use Roots. Programs may retain a Root, because a Root shares no memory with the provider.
type Root struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID

	// Name is the span's name at the end. The name of a request is the route, such as "GET
	// /items/{id}". The program chooses the name, so the name may contain invalid UTF-8.
	Name string

	// Class is the kind of work:
	//
	//   - "request": a unit of work with a definite end. The local root is a span of kind server or
	//     consumer, or a job of marks.StartJob.
	//   - "stream": a request that becomes a websocket or another protocol, or a request with a
	//     response that lasts until the client leaves: see bridgehttp.SetStream. The handler may
	//     return earlier.
	//   - "inner": a request that an open client span of the same provider sent. An example is the
	//     request of a gateway to its own process. An inner request is a part of the caller's
	//     request, and does not count as load.
	//   - "background": a call or a measure outside requests.
	//   - "housekeeping": background work of a pool of connections, such as a dial or a check.
	Class string

	// Start and End contain monotonic clock readings if the span contains such readings.
	// End.Sub(Start) is then correct even if the system's clock was changed during the span.
	Start, End time.Time

	Failed bool // the status is Error

	// Keep is the reason why a [KeepPolicy] keeps the request: "chosen", "failed", "slow",
	// "error_inside" or "share". Keep is "" in these cases:
	//
	//   - The request is not kept.
	//   - Class is "background" or "housekeeping".
	//   - The provider uses no policy.
	Keep string
}

func publicRoot(r *local.Root) Root {
	return Root{
		TraceID: r.TraceID, SpanID: r.SpanID, Name: r.Name, Class: r.Class.String(),
		Start: r.Start, End: r.End, Failed: r.Failed, Keep: r.Keep.String(),
	}
}
