package integration

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/perfline/perfline/integration/backend"
)

// slowRoute is the route whose requests are looked into. One of them in a second is slow,
// because it makes the index of the search anew.
const slowRoute = "GET /search"

// TestShopSpansLeadToProfiles runs the shop with its profiles in Pyroscope and its traces in Jaeger.
// The spans of requests, and no others, have the attribute that leads to their profiles, and all
// profiles have the run's labels. TestLabShopProfiles compares their CPU time.
func TestShopSpansLeadToProfiles(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := strings.ToLower(rand.Text())
	cmd, out := shop(buildShop(t), jaeger, run, "-for", "2s", "-rps", "100")
	cmd.Env = append(cmd.Env, "OTEL_RESOURCE_ATTRIBUTES=run="+run, "PYROSCOPE_SERVER_ADDRESS="+pyroscope.URL(), "PYROSCOPE_LABELS=run="+run)
	if err := cmd.Run(); err != nil {
		t.Fatalf("the shop: %v\n%s", err, out)
	}
	q := backend.Query{Labels: fmt.Sprintf(`{service_name="shop", run=%q}`, run)}
	if whole := total(stored(ctx, t, pyroscope, q)); whole == 0 {
		t.Error("no CPU time of the shop is in Pyroscope")
	}
	profileIDs(ctx, t, run)
}

// profileIDs looks at all the run's spans in Jaeger. Samples name server spans only, and these
// have the attribute. It returns how many there are of slowRoute.
func profileIDs(ctx context.Context, t *testing.T, run string) (searches int) {
	t.Helper()
	traces, err := jaeger.Traces(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	servers, others, wrong := 0, 0, 0
	for _, spans := range traces {
		for _, s := range spans {
			if s.Process["run"] != run {
				continue
			}
			want := any(nil)
			switch {
			case s.Tags["span.kind"] == "server":
				want = s.ID
				servers++
			case s.ParentID == "": // a statement of the shop's start, in no request
				want = s.ID
			default:
				others++
			}
			if s.Name == slowRoute {
				searches++
			}
			if got := s.Tags["pyroscope.profile.id"]; got != want {
				if wrong++; wrong <= 5 {
					t.Errorf("span %s %q of kind %v, parent %q: pyroscope.profile.id is %v, want %v", s.ID, s.Name, s.Tags["span.kind"], s.ParentID, got, want)
				}
			}
		}
	}
	if searches == 0 || servers <= searches || others == 0 {
		t.Errorf("Jaeger has %d spans of %s, %d of servers, %d others", searches, slowRoute, servers, others)
	}
	if wrong > 0 {
		t.Errorf("%d spans of %d are wrong", wrong, servers+others)
	}
	return searches
}
