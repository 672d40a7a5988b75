package service

import (
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

// Whatever arrives, a question that is passed on is one that makes sense.
func FuzzQuery(f *testing.F) {
	for _, a := range []*profilerv1.GetEventsArg{
		{},
		{SessionId: 1, TimelineId: 2, Mode: profilerv1.Mode_MODE_REDUCE_ALL.Enum(), EventId: proto.Uint32(3), MaxDepth: proto.Uint32(4)},
		{EventTypeList: []profilerv1.EventType{1, 9}, Interval: &profilerv1.Interval{Start: proto.Float64(-1), End: proto.Float64(1e300)}, Limit: 5},
		{EventTypeList: []profilerv1.EventType{-1}, AfterEventId: proto.Uint32(7)},
		{MaxDepth: proto.Uint32(0)},
		{EventId: proto.Uint32(0)},
	} {
		b, err := proto.Marshal(a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a := &profilerv1.GetEventsArg{}
		if proto.Unmarshal(b, a) != nil {
			return // is no question
		}
		q, length, err := query(a)
		if err != nil {
			return
		}
		if q.Mode < sessions.All || q.Mode > sessions.ReduceAll || length < 1 || length > maxLimit ||
			(a.MaxDepth != nil) != (q.MaxDepth > 0) || (a.EventId != nil) != (q.Event > 0) || (a.AfterEventId != nil) != (q.After > 0) {
			t.Errorf("%v became %+v with %d events", a, q, length)
		}
		if q.From != nil && q.To != nil && *q.From > *q.To {
			t.Errorf("interval from %v to %v of %v", *q.From, *q.To, a)
		}
		for _, typ := range q.Types {
			if typ < sessions.Generic || typ > sessions.Samples {
				t.Errorf("type %d of %v", typ, a)
			}
		}
	})
}

func TestDurationsOnTheWire_SP8(t *testing.T) {
	for ms, want := range map[float64]time.Duration{
		0: 0, 1.5: 1500 * time.Microsecond, -2: -2 * time.Millisecond, 1e-6: 1,
		1e300: math.MaxInt64, -1e300: math.MinInt64, math.Inf(1): math.MaxInt64,
	} {
		if got := duration(ms); got != want {
			t.Errorf("%s: got %v, want %v", fmt.Sprint(ms, " ms"), got, want)
		}
	}
}
