package requests_test

import (
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"go.opentelemetry.io/otel/codes"

	"github.com/perfline/perfline/internal/requests"
)

// Spans that were open when the process ended have a sign, in each picture, and a row of their own. They have not failed.
func TestOpenSpans(t *testing.T) {
	open := func(s *tracetest.SpanStub) {
		s.Status = sdktrace.Status{Code: codes.Error, Description: requests.ProcessEnded + "killed"}
	}
	r := requests.NewRecent(requests.Config{})
	for i := range 4 {
		r.OnEnd(span(1, 2+i, 1, "query", 0, 20*ms))
	}
	r.OnEnd(span(1, 6, 1, "query", 50*ms, 100*ms, open))
	r.OnEnd(span(1, 7, 1, "failed", 60*ms, 70*ms, failed))
	r.OnEnd(span(1, 1, 0, "GET /cart", 0, 100*ms, open, event("crash", 100*ms)))
	q := r.Requests()[0].Request()
	var text, picture strings.Builder
	if err := requests.WriteWaterfall(&text, q, nil); err != nil {
		t.Fatal(err)
	}
	if err := requests.WriteSVG(&picture, q); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"GET /cart  ▶ open for 100ms", "\nGET /cart ▶", "▶       0ns     100ms\n", "\n  query ▶", "▶    50.0ms    50.0ms\n", "query × 4", "failed ✗"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the waterfall lacks %q:\n%s", want, text.String())
		}
	}
	for _, want := range []string{"GET /cart  ▶ open for 100ms", ">GET /cart ▶<", ">query ▶<", ">query<", ">failed ✗<"} {
		if !strings.Contains(picture.String(), want) {
			t.Errorf("the picture lacks %q:\n%s", want, picture.String())
		}
	}
	if n := strings.Count(text.String(), "✗"); n != 1 {
		t.Errorf("%d spans have failed", n)
	}
}
