package bridge

import (
	"log/slog"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/internal/underway"
)

// A mirroredTable has the open spans of another provider that are in the black box, with the units
// of their slots. A unit has one slot for a request.
type mirroredTable struct{ underway.Table[mirroredSpan] }

type mirroredSpan struct {
	unit *record.Unit
	root bool // the span is the local root
}

// put adds a span. A full table forgets the span of another request, and frees its slot.
func (t *mirroredTable) put(sc trace.SpanContext, s mirroredSpan) {
	if out := t.Put(sc, s); out.root && out.unit != s.unit {
		out.unit.Close()
	}
}

// freeAll frees the slots of all requests: nothing tells their ends any more.
func (t *mirroredTable) freeAll() {
	for _, s := range t.TakeAll() {
		if s.root {
			s.unit.Close()
		}
	}
}

// mirrorStart writes a new span to the black box. A local root takes a slot.
func (p *Processor) mirrorStart(s sdktrace.ReadOnlySpan) {
	sc, above := s.SpanContext(), s.Parent()
	if isLocal(above) {
		of := p.attachment.mirrored.Get(above)
		if of.unit == nil {
			return
		}
		if slot := of.unit.LockMirror(); slot != nil {
			slot.Write(&mirror.Entry{
				Kind: mirror.Open, Span: mirror.SpanID(sc.SpanID()),
				Parent: mirror.SpanID(above.SpanID()), Start: of.unit.MirrorTime(s.StartTime()),
				Name: s.Name(),
			})
			of.unit.UnlockMirror()
		}
		p.attachment.mirrored.put(sc, mirroredSpan{unit: of.unit})
		return
	}
	u := p.timeline.NewUnit(s.StartTime(), nil)
	slot := u.BeginMirror()
	if slot == nil {
		return
	}
	h := mirror.Head{
		Trace: mirror.TraceID(sc.TraceID()), Span: mirror.SpanID(sc.SpanID()),
		Parent: mirror.SpanID(above.SpanID()), Start: u.MirrorTime(s.StartTime()),
		Kind: uint8(s.SpanKind()), Name: s.Name(), //nolint:gosec // small
	}
	if above.IsRemote() {
		h.Flags |= mirror.Remote
	}
	if sc.IsSampled() {
		h.Flags |= mirror.Sampled
	}
	if s.SpanKind() == trace.SpanKindServer {
		mirrorPath(slot.Attributes(), s.Attributes())
	} else {
		mirrorAttributes(slot.Attributes(), s.Attributes())
	}
	slot.Begin(&h)
	u.UnlockMirror()
	p.attachment.mirrored.put(sc, mirroredSpan{u, true})
}

// mirrorEnd writes the end of a span. The processors behind p pass the span on in a moment.
func (p *Processor) mirrorEnd(s sdktrace.ReadOnlySpan) {
	sc := s.SpanContext()
	of := p.attachment.mirrored.Take(sc)
	switch {
	case of.unit == nil:
	case of.root:
		of.unit.Close()
	default:
		slot := of.unit.LockMirror()
		if slot == nil {
			return
		}
		defer of.unit.UnlockMirror()
		mirrorAttributes(slot.Attributes(), s.Attributes())
		slot.Write(&mirror.Entry{
			Kind: mirror.Span, Flags: mirror.Given, Span: mirror.SpanID(sc.SpanID()),
			Parent: mirror.SpanID(s.Parent().SpanID()),
			Start:  of.unit.MirrorTime(s.StartTime()), Duration: s.EndTime().Sub(s.StartTime()),
			Name: s.Name(),
		})
		slot.EndSpan(mirror.SpanID(sc.SpanID()))
	}
}

// mirrorMark writes a mark under a span of another provider.
func (a *attachment) mirrorMark(sc trace.SpanContext, name string, at time.Time,
	attrs []slog.Attr) {
	if of := a.mirrored.Get(sc); of.unit != nil {
		of.unit.MirrorMark(record.ID(sc.SpanID()), name, at, attrs)
	}
}

// Serves implements [record.Tracer].
func (a *attachment) Serves(span any, u *record.Unit) {
	if a.mirrored == nil {
		return
	}
	var sc trace.SpanContext
	a.try(func() { sc = spanOf(span).SpanContext() })
	if of := a.mirrored.Get(sc); of.root && of.unit != u {
		u.TakeMirror(of.unit)
		a.mirrored.put(sc, mirroredSpan{u, true})
	}
}
