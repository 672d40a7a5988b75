package underway

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

func contextOf(traceID trace.TraceID, spanID trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID})
}

// A table does what a map does, though ids look alike and come again.
func TestTable(t *testing.T) {
	var u Table[*int]
	var spans []trace.SpanContext
	for i := range byte(16) { // in one shard, in two lists
		spans = append(spans, contextOf(trace.TraceID{i & 1, 15: 1}, trace.SpanID{0: i >> 1 & 3, 6: i >> 3, 7: 5}))
	}
	model := map[key]*int{}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20_000 {
		sc := spans[random.IntN(len(spans))]
		was := model[keyOf(sc)]
		if random.IntN(2) == 0 {
			v := new(int)
			model[keyOf(sc)] = v
			if got := u.Put(sc, v); got != was {
				t.Fatalf("%d: Put returned %v, want %v", i, got, was)
			}
		} else {
			delete(model, keyOf(sc))
			if got := u.Take(sc); got != was {
				t.Fatalf("%d: Take returned %v, want %v", i, got, was)
			}
		}
		if n := u.Len(); n != len(model) {
			t.Fatalf("%d: the table has %d spans, want %d", i, n, len(model))
		}
	}
	for _, sc := range spans[:8] {
		u.Take(sc)
		delete(model, keyOf(sc))
	}
	free := 0
	for e := u.shards[5].free; e != nil; e = e.next {
		if free++; e.key != (key{}) || e.value != nil {
			t.Errorf("an emptied entry keeps %v of %v", e.value, e.key)
		}
	}
	if n := u.Len(); free < 8 || free+n > len(spans) {
		t.Errorf("%d entries are empty and %d are in use, of at most %d", free, n, len(spans))
	}
	for _, v := range u.TakeAll() {
		found := false
		for k, want := range model {
			if v == want {
				delete(model, k)
				found = true
			}
		}
		if !found {
			t.Errorf("TakeAll returned %v, which the table should not have", v)
		}
	}
	if len(model) > 0 || u.Len() != 0 {
		t.Errorf("TakeAll left out %v and left %d", model, u.Len())
	}
}

// A full shard forgets one span for each that comes, whatever lists they are in.
func TestFullTable(t *testing.T) {
	for name, list := range map[string]func(i int) byte{
		"all lists":                   func(i int) byte { return byte(i) },
		"one list":                    func(int) byte { return 7 },
		"a list, the rest in another": func(i int) byte { return byte(i / (maxInShard + 1)) },
		"the last, then others":       func(i int) byte { return byte(255 - i/(maxInShard+1)) },
	} {
		t.Run(name, func(t *testing.T) {
			var u Table[*int]
			forgotten := 0
			for i := range 2 * maxInShard {
				var id trace.SpanID
				binary.BigEndian.PutUint32(id[:], uint32(i))
				id[6] = list(i)
				sc := contextOf(trace.TraceID{1}, id)
				v := new(int)
				if u.Put(sc, v) != nil {
					forgotten++
				}
				if got := u.Take(sc); got != v {
					t.Fatalf("%d: Take returned %v, want %v", i, got, v)
				}
				u.Put(sc, v)
				if n := u.Len(); n != min(i+1, maxInShard) || n+forgotten != i+1 {
					t.Fatalf("the table has %d spans and forgot %d, of %d", n, forgotten, i+1)
				}
			}
			if n := u.Evicted(); int(n) != forgotten {
				t.Errorf("%d are counted as forgotten, want %d", n, forgotten)
			}
		})
	}
}

func BenchmarkPutTake(b *testing.B) {
	var u Table[*int]
	v := new(int)
	b.ReportAllocs()
	for b.Loop() {
		var id trace.SpanID
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
		sc := contextOf(trace.TraceID{1}, id)
		u.Put(sc, v)
		u.Take(sc)
	}
}
