package otlpenc_test

import (
	"math"
	"strconv"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/spanfuzz"
)

func spanOf(r *resource.Resource, s instrumentation.Scope) sdktrace.ReadOnlySpan {
	return scoped{tracetest.SpanStub{Resource: r}.Snapshot(), s}
}

func TestGroups(t *testing.T) {
	other := resource.NewSchemaless(attribute.String("service.name", "other"))
	scope := instrumentation.Scope{Name: "scope", Version: "1", SchemaURL: "s", Attributes: attribute.NewSet(attribute.String("k", "v"))}
	with := func(change func(s *instrumentation.Scope)) instrumentation.Scope {
		changed := scope
		change(&changed)
		return changed
	}
	different := []sdktrace.ReadOnlySpan{
		spanOf(testResource, scope), spanOf(other, scope), spanOf(nil, scope),
		spanOf(testResource, with(func(s *instrumentation.Scope) { s.Name = "SCOPE" })),
		spanOf(testResource, with(func(s *instrumentation.Scope) { s.Version = "2" })),
		spanOf(testResource, with(func(s *instrumentation.Scope) { s.SchemaURL = "" })),
		spanOf(testResource, with(func(s *instrumentation.Scope) { s.Attributes = attribute.NewSet(attribute.String("k", "w")) })),
		spanOf(testResource, instrumentation.Scope{}), spanOf(testResource, instrumentation.Scope{Attributes: attribute.NewSet()}),
	}
	var groups otlpenc.Groups
	found := map[*otlpenc.Group]int{}
	for range 3 {
		for i, s := range different {
			g := groupOf(&groups, s)
			if first, ok := found[g]; ok && first != i {
				t.Errorf("span %d has the group of span %d", i, first)
			}
			found[g] = i
			if g.Resource() != s.Resource() || g.Scope() != s.InstrumentationScope() {
				t.Errorf("group of %v and %v, want %v and %v", g.Resource(), g.Scope(), s.Resource(), s.InstrumentationScope())
			}
		}
	}
	if len(found) != len(different) {
		t.Errorf("%d groups, want %d", len(found), len(different))
	}
}

// A scope that is not equal to itself is one group.
func TestGroupsOfNaN(t *testing.T) {
	s := spanOf(testResource, instrumentation.Scope{Name: "scope", Attributes: attribute.NewSet(attribute.Float64Slice("k", []float64{math.NaN()}))})
	var groups otlpenc.Groups
	if a, b := groupOf(&groups, s), groupOf(&groups, s); a != b {
		t.Errorf("groups %p and %p of the same scope", a, b)
	}
}

// A program that makes providers without end retains a bounded number of resources, and all groups remain right.
func TestGroupsAreBounded(t *testing.T) {
	var groups otlpenc.Groups
	first := groupOf(&groups, spanOf(testResource, instrumentation.Scope{Name: "scope"}))
	for i := range 3000 {
		r := resource.NewSchemaless(attribute.Int("number", i))
		s := spanOf(r, instrumentation.Scope{Name: "scope " + strconv.Itoa(i%7)})
		if g := groupOf(&groups, s); g.Resource() != r || g.Scope() != s.InstrumentationScope() || groupOf(&groups, s) != g {
			t.Fatalf("group %d is of %v and %v", i, g.Resource(), g.Scope())
		}
	}
	if again := groupOf(&groups, spanOf(testResource, instrumentation.Scope{Name: "scope"})); again == first {
		t.Error("the first of 3000 groups is still there")
	}
}

func TestGroupsConcurrently(t *testing.T) {
	var groups otlpenc.Groups
	var spans []sdktrace.ReadOnlySpan
	for i := range 100 {
		spans = append(spans, spanOf(testResource, instrumentation.Scope{Name: "scope " + strconv.Itoa(i)}))
	}
	found := make([]map[*otlpenc.Group]bool, len(spans))
	for i := range found {
		found[i] = map[*otlpenc.Group]bool{}
	}
	var mu sync.Mutex // guards found
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				for i, s := range spans {
					g := groupOf(&groups, s)
					if g.Scope() != s.InstrumentationScope() {
						t.Errorf("group of %v, want %v", g.Scope(), s.InstrumentationScope())
					}
					mu.Lock()
					found[i][g] = true
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for i, all := range found {
		if len(all) != 1 {
			t.Errorf("scope %d has %d groups, want 1", i, len(all))
		}
	}
}

// Spans of one group are together, also when others lie between them, and when there are more groups than usual.
func TestAppendRequestGroups(t *testing.T) {
	resources := []*resource.Resource{testResource, resource.NewSchemaless(attribute.Int("n", 1)), nil}
	var spans []sdktrace.ReadOnlySpan
	for i := range 1000 {
		spans = append(spans, spanOf(resources[i%3], instrumentation.Scope{Name: strconv.Itoa(i % 20)}))
	}
	got, _ := byUs(t, spans)
	spanfuzz.Equal(t, got, spanfuzz.BySDK(t, spans))
	if n := len(got.GetResourceSpans()); n != 3 {
		t.Errorf("%d resources, want 3", n)
	}
	for _, rs := range got.GetResourceSpans() {
		if n := len(rs.GetScopeSpans()); n != 20 {
			t.Errorf("%d scopes, want 20", n)
		}
	}
	if got := otlpenc.AppendRequest[otlpenc.Spans](nil, nil); len(got) != 0 {
		t.Errorf("a request without spans is %x", got)
	}
}
