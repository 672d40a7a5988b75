package bridge_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
)

// OTLP cannot carry text that is not UTF-8 and loses the whole batch with it: a
// client could choose which spans do not arrive.
func TestTextThatIsNotUTF8(t *testing.T) {
	r := withProcessor(t)
	const bad = "a\xffb"
	inner := httptest.NewServer(http.NotFoundHandler())
	defer inner.Close()
	client := http.Client{Transport: bridge.Client{TracerProvider: r.provider}.Transport(inner.Client().Transport)}
	req := httptest.NewRequest(http.MethodGet, "/x", nil)
	req.Method = bad
	req.URL.Path = "/" + bad
	req.Host = bad
	req.Header.Set("User-Agent", bad)
	req.Header.Set("X-Forwarded-For", bad)
	r.serve(func(_ http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		marks.Mark(ctx, bad, slog.String(bad, bad), slog.Any("list", []string{"ok", bad}), slog.Any("struct", struct{ S string }{bad}))
		marks.Time(ctx, bad).End()
		inside, started := marks.Start(ctx, bad)
		trace.SpanFromContext(inside).RecordError(errors.New(bad))
		started.End()
		out, err := http.NewRequestWithContext(ctx, http.MethodGet, inner.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		out.URL.Path = "/" + bad
		resp, err := client.Do(out)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}, "/", req)
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
	if len(spans) != 5 {
		t.Errorf("spans %v, want the request, the call and three measures", r.got.names())
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
