package bridge

import (
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/record/mirror"
)

// mirrorStart writes a new span to the black box: see package mirror. A local root takes a slot.
func (s *recordedSpan) mirrorStart() {
	u := s.Unit()
	if !s.root {
		if slot := u.LockMirror(); slot != nil {
			slot.Write(&mirror.Entry{
				Kind: mirror.Open, Span: mirror.SpanID(s.spanContext.SpanID()),
				Parent: mirror.SpanID(s.parent.id), Start: u.MirrorTime(s.startTime), Name: s.name,
			})
			u.UnlockMirror()
		}
		return
	}
	slot := u.BeginMirror()
	if slot == nil {
		return
	}
	defer u.UnlockMirror()
	h := mirror.Head{
		Trace: mirror.TraceID(s.spanContext.TraceID()), Span: mirror.SpanID(s.spanContext.SpanID()),
		Parent: mirror.SpanID(s.parent.id), Start: u.MirrorTime(s.startTime), Kind: s.kind,
		Name: s.name,
	}
	if s.parent.remote {
		h.Flags |= mirror.Remote
	}
	switch {
	case s.sampled:
		h.Flags |= mirror.Sampled
	case s.tentative && s.exportsKept(local.KeptForFailure):
		h.Flags |= mirror.Kept
	}
	attrs := slot.Attributes()
	switch {
	case s.request != nil:
		if path := s.request.Form.Path(s.request); path != "" {
			attrs.Text(string(semconv.URLPathKey), path)
		}
	case s.kind == uint8(trace.SpanKindServer):
		mirrorPath(attrs, s.attributes)
	default:
		mirrorAttributes(attrs, s.attributes)
	}
	slot.Begin(&h)
}

// mirrorEnd writes the end of a local root.
func (s *recordedSpan) mirrorEnd(u *record.Unit) {
	if slot := u.LockMirror(); slot != nil {
		slot.End(u.MirrorTime(s.endTime), s.mirrorFlags())
		u.UnlockMirror()
	}
}

func (s *recordedSpan) mirrorFlags() mirror.Flags {
	if s.failed() {
		return mirror.Failed
	}
	return 0
}

// Mirror writes the end of any other span, with its attributes.
func (s *recordedSpan) Mirror(u *record.Unit, slot *mirror.Slot) {
	mirrorAttributes(slot.Attributes(), s.attributes)
	slot.Write(&mirror.Entry{
		Kind: mirror.Span, Flags: s.mirrorFlags(), Span: mirror.SpanID(s.spanContext.SpanID()),
		Parent: mirror.SpanID(s.parent.id), Start: u.MirrorTime(s.startTime),
		Duration: s.endTime.Sub(s.startTime), Name: s.name,
	})
	slot.EndSpan(mirror.SpanID(s.spanContext.SpanID()))
}

// mirrorPath writes the path of a request: of the attributes of a request, the file needs only
// this.
func mirrorPath(to *mirror.Attributes, attrs []attribute.KeyValue) {
	for i := range attrs {
		if attrs[i].Key == semconv.URLPathKey {
			to.Text(string(semconv.URLPathKey), attrs[i].Value.AsString())
		}
	}
}

func mirrorAttributes(to *mirror.Attributes, attrs []attribute.KeyValue) {
	for i := range attrs {
		switch key, v := string(attrs[i].Key), attrs[i].Value; v.Type() {
		case attribute.STRING:
			to.Text(key, v.AsString())
		case attribute.INT64:
			to.Int(key, v.AsInt64())
		case attribute.FLOAT64:
			to.Float(key, v.AsFloat64())
		case attribute.BOOL:
			to.Bool(key, v.AsBool())
		default:
			to.Skip()
		}
	}
}
