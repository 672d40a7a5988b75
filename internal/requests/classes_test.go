package requests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/requests"
)

// ends has the change that makes a root span one of a class.
var ends = [local.Classes]func(*tracetest.SpanStub){
	local.Request: func(*tracetest.SpanStub) {},
	local.Stream: func(s *tracetest.SpanStub) {
		s.Attributes = append(s.Attributes, attribute.Bool(record.StreamKey, true))
	},
	local.Background: func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindClient },
	local.Housekeeping: func(s *tracetest.SpanStub) {
		s.SpanKind, s.Name = trace.SpanKindClient, housekeeping
	},
	local.Inner: func(*tracetest.SpanStub) {},
}

// end ends a local root of a class. Only perfline's provider knows that a request is inside another one.
func end(r *requests.Recent, class local.Class, s sdktrace.ReadOnlySpan) {
	var groups otlpenc.Groups
	groups.Encode(s, func(encoded otlpenc.Spans) {
		if class == local.Inner {
			encoded.Root().Class = class
		}
		r.Accept([]bridge.Spans{bridge.Spans(encoded)})
	})
}

// When memory is full, the oldest root goes, of whichever class.
func TestOldestOfAnyClassGoes(t *testing.T) {
	r := requests.NewRecent(requests.Config{Slowest: -1, Examples: -1, MaxBytes: 64 << 10})
	text := func(s *tracetest.SpanStub) {
		s.Attributes = append(s.Attributes, attribute.String("text", strings.Repeat("x", 3000)))
	}
	const last = 120
	for id := 1; id <= last; id++ {
		class := local.Class(id / 5 % local.Classes)
		end(r, class, span(id, 1, 0, "root", 0, ms, text, ends[class]))
	}
	all := slices.Concat(r.Requests(), r.Background())
	slices.SortFunc(all, func(a, b requests.Snapshot) int { return int(b.TraceID[2]) - int(a.TraceID[2]) })
	if len(all) < 15 || len(all) > 21 {
		t.Errorf("%d roots are in memory, want about 20", len(all))
	}
	for i, s := range all {
		if int(s.TraceID[2]) != last-i {
			t.Fatalf("root %d is in memory as number %d of the newest", s.TraceID[2], i+1)
		}
	}
}

// Each class has a list of its own: many roots of one class displace no root of another one. The lists of two classes are merged by age.
func TestEachClassHasAList(t *testing.T) {
	for many := range local.Class(local.Classes) {
		r := requests.NewRecent(requests.Config{Requests: 3, Background: 2, Slowest: -1, Examples: -1})
		id := 0
		another := func(class local.Class) {
			id++
			end(r, class, span(id, 1, 0, fmt.Sprint("root ", id), 0, ms, ends[class]))
		}
		for class := range local.Class(local.Classes) {
			another(class)
		}
		for range 50 {
			another(many)
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
				want = [local.Classes]int{local.Request: 3, local.Stream: 3, local.Inner: 3, local.Background: 2, local.Housekeeping: 2}[class]
			}
			if counts[class] != want {
				t.Errorf("after 50 more of %v, %d of %v are in memory, want %d", many, counts[class], class, want)
			}
		}
	}
}
