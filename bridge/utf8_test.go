package bridge_test

import (
	"errors"
	"log/slog"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
)

// OTLP cannot carry text that is not UTF-8 and loses the whole batch with it.
func TestTextThatIsNotUTF8(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		textThatIsNotUTF8(t, open(bothproviders.Options{}))
	})
}

func textThatIsNotUTF8(t *testing.T, r *rig) {
	const bad = "a\xffb"
	ctx, span := r.tracer.Start(r.ctx, "span")
	marks.Mark(ctx, bad, slog.String(bad, bad), slog.Any("list", []string{"ok", bad}), slog.Any("struct", struct{ S string }{bad}))
	marks.Time(ctx, bad).End()
	_, started := marks.Start(ctx, bad)
	started.Fail(errors.New(bad))
	started.End()
	span.End()
	_, alone := marks.Start(r.ctx, bad)
	alone.End()
	r.flush(t)
	check := func(what, s string) {
		if !utf8.ValidString(s) {
			t.Errorf("%s is %q, which is not UTF-8", what, s)
		}
	}
	attributes := func(what string, kvs []attribute.KeyValue) {
		for _, kv := range kvs {
			check(what+": a key", string(kv.Key))
			check(what+": "+string(kv.Key), kv.Value.String())
		}
	}
	spans := r.got.all()
	if len(spans) != 4 {
		t.Errorf("spans %v, want one and three measures", r.got.names())
	}
	for _, s := range spans {
		check("a span's name", s.Name())
		attributes(s.Name(), s.Attributes())
		for _, e := range s.Events() {
			check("an event's name", e.Name)
			attributes(e.Name, e.Attributes)
		}
	}
}
