package requests_test

import (
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/requests"
)

// Each class has a list of its own: many roots of one class displace no root of another one. The lists of two classes are merged by age.
func TestEachClassHasAList(t *testing.T) {
	kinds := map[local.Class]func(*tracetest.SpanStub){
		local.Request: func(*tracetest.SpanStub) {},
		local.Stream: func(s *tracetest.SpanStub) {
			s.Attributes = []attribute.KeyValue{attribute.Bool(record.StreamKey, true)}
		},
		local.Background: func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindClient },
		local.Housekeeping: func(s *tracetest.SpanStub) {
			s.SpanKind, s.Name = trace.SpanKindClient, "redis.dial"
		},
	}
	for many := range local.Class(local.Classes) {
		r := requests.NewRecent(requests.Config{Requests: 3, Background: 2, Slowest: -1, Examples: -1})
		id := 0
		end := func(class local.Class) {
			id++
			r.OnEnd(span(id, 1, 0, fmt.Sprint("root ", id), 0, ms, kinds[class]))
		}
		for class := range local.Class(local.Classes) {
			end(class)
		}
		for range 50 {
			end(many)
		}
		counts := map[local.Class]int{}
		for _, list := range [][]requests.Snapshot{r.Requests(), r.Background()} {
			for _, s := range list {
				counts[s.Class]++
			}
			if !slices.IsSortedFunc(list, func(a, b requests.Snapshot) int { return int(b.TraceID[2]) - int(a.TraceID[2]) }) {
				t.Errorf("%v: the newest is not first", many)
			}
		}
		for class := range local.Class(local.Classes) {
			want := 1
			if class == many {
				want = []int{3, 3, 2, 2}[class]
			}
			if counts[class] != want {
				t.Errorf("after 50 more of %v, %d of %v are in memory, want %d", many, counts[class], class, want)
			}
		}
	}
}
