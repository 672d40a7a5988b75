package livepage

import (
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
)

// The header names the process of the lists. Behind a load balancer, another process may answer a click: the page says so.
func TestTwoProcesses(t *testing.T) {
	on := func(host string) http.Handler {
		res := resource.NewSchemaless(semconv.HostName(host), semconv.ServiceInstanceID("id of "+host))
		return live.Handler(&waiting{recent: requests.NewRecent(requests.Config{Resource: res})}, live.Config{})
	}
	lists, clicks := on("web-1"), on("web-2")
	balancer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/data/v1/routes/heat") && r.URL.Query().Get("route") != "" {
			clicks.ServeHTTP(w, r)
			return
		}
		lists.ServeHTTP(w, r)
	})
	p := open(t, listen(t, balancer)+live.Prefix, View{})
	p.wait(`document.querySelector("#instance").textContent.startsWith("web-1, since 20")`)
	if title := eval[string](p, `document.querySelector("#instance").title`); title != "service.instance.id: id of web-1" {
		t.Errorf("the header's title is %q", title)
	}
	if eval[bool](p, `document.querySelector("#instance-note").checkVisibility()`) {
		t.Error("the page says that another process answered, and none did")
	}
	p.show("#/?route=GET+%2Fitems")
	p.wait(`document.querySelector("#instance-note").checkVisibility()`)
	if text := p.text("#instance-note"); !strings.HasPrefix(text, "The last answer is of web-2, since 20") || !strings.Contains(text, "The lists are of web-1, since 20") {
		t.Errorf("the page says %q", text)
	}
}
