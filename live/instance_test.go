package live_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	otelattribute "go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
)

// Each answer to an allowed client names the process, and the data of the page do, too.
func TestProcessIsNamed(t *testing.T) {
	pc := allowed
	pc.Attributes = []otelattribute.KeyValue{otelattribute.String("host.name", "web-1\u202e"), otelattribute.String("service.instance.id", "a&b")}
	before := time.Now()
	for _, data := range []guard.Data{guard.Everything, guard.Summary} {
		p := start(t, pc, live.Config{Data: data})
		var o struct {
			Page struct {
				Instance, ID, Host string
				ProcessStarted     float64
			}
		}
		p.get("data/v1/overview", http.StatusOK, &o)
		if o.Page.ID != "a&b" || o.Page.Host != `web-1\u202e` || o.Page.ProcessStarted <= 0 || o.Page.ProcessStarted > float64(before.UnixMilli()) {
			t.Errorf("the page has %+v", o.Page)
		}
		for _, path := range []string{"", "page/main.js", "data/v1/runtime", "data/v1/requests/x/y", "nothing"} {
			named, err := url.ParseQuery(p.do(ask(http.MethodGet, path, "")).Header().Get("Perfline-Instance"))
			started, number := strconv.ParseFloat(named.Get("processStarted"), 64)
			if err != nil || number != nil || named.Get("instance") != o.Page.Instance || named.Get("id") != o.Page.ID ||
				named.Get("host") != o.Page.Host || started != o.Page.ProcessStarted {
				t.Errorf("%q is of %v, %v, %v; want %+v", path, named, err, number, o.Page)
			}
		}
		stranger := ask(http.MethodGet, "data/v1/overview", "")
		stranger.RemoteAddr = "192.0.2.1:4711"
		if rec := p.do(stranger); rec.Code != http.StatusForbidden || rec.Header().Get("Perfline-Instance") != "" {
			t.Errorf("status %d for a stranger, who is told %q", rec.Code, rec.Header().Get("Perfline-Instance"))
		}
	}
}

// A program without a resource has a page that says so.
func TestProcessWithoutResource(t *testing.T) {
	p := &program{t: t, page: live.Handler(quiet{recent: requests.NewRecent(requests.Config{})}, live.Config{})}
	var o struct {
		Page struct {
			ID, Host       string
			ProcessStarted float64
		}
	}
	p.get("data/v1/overview", http.StatusOK, &o)
	if o.Page.ID != "" || o.Page.Host != "" || o.Page.ProcessStarted <= 0 {
		t.Errorf("the page has %+v", o.Page)
	}
}

// Beside a provider of the SDK, the page says which requests are missing.
func TestSampledOnly(t *testing.T) {
	for _, sdk := range []bool{false, true} {
		pc := allowed
		if sdk {
			pc.TracerProvider = sdktrace.NewTracerProvider()
			t.Cleanup(func() { _ = pc.TracerProvider.Shutdown(t.Context()) })
		}
		p := start(t, pc, live.Config{})
		var o struct{ Page struct{ SampledOnly bool } }
		p.get("data/v1/overview", http.StatusOK, &o)
		if o.Page.SampledOnly != sdk {
			t.Errorf("beside the SDK %v, the page has %+v", sdk, o.Page)
		}
	}
}
