package otlpenc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
)

// filled appends n bytes that belong to a number.
func filled(b []byte, number uint64, n int) []byte {
	r := rand.New(rand.NewPCG(number, 1))
	for range n {
		b = append(b, byte(r.Uint32()))
	}
	return b
}

// A user retains spans, whose bytes belong to a number.
type user struct {
	spans  otlpenc.Spans
	number uint64
}

func (u user) check(t *testing.T) {
	t.Helper()
	if want := filled(nil, u.number, len(u.spans.Bytes)); !bytes.Equal(u.spans.Bytes, want) {
		t.Errorf("%d bytes of spans changed before their release", len(want))
	}
}

// anySize returns a size: most spans share a block, some do not.
func anySize(r *rand.Rand) int {
	return 1 + []int{r.IntN(300), r.IntN(300), r.IntN(3000), r.IntN(40_000)}[r.IntN(4)]
}

// Bytes do not change while somebody retains them, whoever writes at the same time. Users release them in any order.
func TestRetainedBytesStay(t *testing.T) {
	group := new(otlpenc.Groups).Group(nil, instrumentation.Scope{})
	var all sync.WaitGroup
	handed := make(chan user, 100)
	for g := range uint64(3) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(g, 2))
			var w otlpenc.Writer
			for i := range uint64(2000) {
				number := g<<32 | i
				s := w.Spans(otlpenc.NewSpans(group, filled(w.Next(), number, anySize(r)), 1))
				for range r.IntN(4) {
					handed <- user{s.Retain(), number}
				}
				user{s, number}.check(t)
				s.Release()
			}
		})
	}
	var users sync.WaitGroup
	for g := range uint64(2) {
		users.Go(func() {
			r := rand.New(rand.NewPCG(g, 3))
			var kept []user
			for u := range handed {
				kept = append(kept, u)
				for len(kept) > 0 && r.IntN(len(kept)+1) > 20 {
					at := r.IntN(len(kept))
					u := kept[at]
					u.check(t)
					u.spans.Release()
					kept[at] = kept[len(kept)-1]
					kept = kept[:len(kept)-1]
				}
			}
			for _, u := range kept {
				u.check(t)
				u.spans.Release()
			}
		})
	}
	all.Wait()
	close(handed)
	users.Wait()
}

// Parts of records are retained on their own.
func TestPartsAreRetained(t *testing.T) {
	var w otlpenc.Writer
	var groups otlpenc.Groups
	for range 200 {
		var want []byte
		b := w.Next()
		for i := range 6 {
			b = append(b, encodeIn(&groups, tracetest.SpanStub{Name: fmt.Sprint("span ", i)}.Snapshot()).Bytes...)
		}
		s := w.Spans(otlpenc.NewSpans(groups.Group(nil, instrumentation.Scope{}), b, 6))
		want = bytes.Clone(s.Bytes)
		var parts []otlpenc.Records
		for part, others := s.Records().Cut(2, 1<<20); ; part, others = others.Cut(2, 1<<20) {
			retained := part.Retain()
			if &retained.Bytes[0] != &part.Bytes[0] {
				t.Fatal("a part was copied")
			}
			parts = append(parts, retained)
			if len(others.Bytes) == 0 {
				break
			}
		}
		s.Release()
		filler := w.Spans(otlpenc.Spans{Bytes: filled(w.Next(), 1, 5000)})
		filler.Release()
		var got []byte
		for _, part := range parts {
			got = append(got, part.Bytes...)
			part.Release()
		}
		if len(parts) != 3 || !bytes.Equal(got, want) {
			t.Fatalf("%d parts have\n%q, want\n%q", len(parts), got, want)
		}
	}
}

// Records that a Writer wrote one after the other are joined within bounds. One user of the block is enough for all of them.
func TestRecordsAreJoined(t *testing.T) {
	var w otlpenc.Writer
	var groups otlpenc.Groups
	group, another := groups.Group(nil, instrumentation.Scope{}), groups.Group(nil, instrumentation.Scope{Name: "another"})
	var all []otlpenc.Records
	for _, g := range []*otlpenc.Group{group, group, group, another, group} {
		all = append(all, w.Records(otlpenc.NewRecords(g, append(w.Next(), fmt.Sprint("record ", len(all))...), 1)))
	}
	foreign := all[1]
	foreign.Bytes = bytes.Clone(foreign.Bytes)
	for _, c := range []struct {
		name         string
		to, others   otlpenc.Records
		count, bytes int
		want         string
	}{
		{"the next one", all[0], all[1], 2, 16, "record 0record 1"},
		{"one further on", all[0], all[2], 9, 99, "record 0"},
		{"the one before", all[1], all[0], 9, 99, "record 1"},
		{"over the count", all[0], all[1], 1, 99, "record 0"},
		{"over the bytes", all[0], all[1], 9, 15, "record 0"},
		{"of another group", all[2], all[3], 9, 99, "record 2"},
		{"behind another group", all[2], all[4], 9, 99, "record 2"},
		{"a caller's bytes", all[0], foreign, 9, 99, "record 0"},
		{"behind a caller's bytes", foreign, all[2], 9, 99, "record 1"},
	} {
		if joined := c.to.Join(c.others, c.count, c.bytes); joined != (c.to.Count == 2) || string(c.to.Bytes) != c.want {
			t.Errorf("%s: joined is %t, and %d records are %q, want %q", c.name, joined, c.to.Count, c.to.Bytes, c.want)
		}
	}
	joined := all[0].Retain()
	if !joined.Join(all[1], 9, 99) || !joined.Join(all[2], 9, 99) {
		t.Fatal("the first three were not joined")
	}
	for _, r := range all {
		r.Release()
	}
	for range 200 {
		w.Spans(otlpenc.Spans{Bytes: filled(w.Next(), 1, 1000)}).Release()
	}
	if string(joined.Bytes) != "record 0record 1record 2" || joined.Count != 3 {
		t.Errorf("%d records are %q after others were written", joined.Count, joined.Bytes)
	}
	joined.Release()
}

// Bytes that no Writer has made, or that a caller has put in place of a Writer's, are copied.
func TestRetainCopiesOtherBytes(t *testing.T) {
	var w otlpenc.Writer
	root := local.Root{Name: "GET /"}
	written := w.Spans(otlpenc.NewSpans(nil, append(w.Next(), "written"...), 1).WithRoot(&root))
	replaced := written
	replaced.Bytes = []byte("replaced")
	for name, s := range map[string]otlpenc.Spans{"a caller's": {Bytes: []byte("of the caller")}, "replaced": replaced} {
		want := string(s.Bytes)
		kept := s.Retain()
		clear(s.Bytes)
		if string(kept.Bytes) != want {
			t.Errorf("%s: %q, want %q", name, kept.Bytes, want)
		}
		kept.Release()
	}
	own := written.Clone()
	if retained := written.Retain(); &retained.Bytes[0] != &written.Bytes[0] || &own.Bytes[0] == &written.Bytes[0] {
		t.Error("Retain copied a Writer's bytes, or Clone did not")
	}
	root.Name = "another"
	if own.Root().Name != "GET /" || string(own.Bytes) != "written" {
		t.Errorf("the clone is %q with the root %+v", own.Bytes, own.Root())
	}
	var nothing otlpenc.Spans
	nothing.Retain().Release()
	w.Spans(nothing).Release()
}
