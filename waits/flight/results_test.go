package flight

import (
	"testing"
	"unsafe"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/waits"
)

// The newest results are kept: as many as the two bounds allow.
func TestResultsAreBounded(t *testing.T) {
	numbered := func(i byte) local.ID { r := root(i); return local.ID{Trace: r.TraceID, Span: r.SpanID} }
	for _, c := range []struct {
		name    string
		most    int
		bytes   int
		stored  []byte // of five results with 10, 20, … 50 bytes
		evicted uint64
	}{
		{"default", 64, 1000, []byte{1, 2, 3, 4, 5}, 0},
		{"requests", 2, 1000, []byte{4, 5}, 3},
		{"bytes", 64, 100, []byte{4, 5}, 3},
		{"too large", 64, 49, []byte{4}, 4},
		{"no requests", 0, 1000, nil, 5},
		{"no bytes", 64, 0, nil, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newResults(c.most, c.bytes)
			for i := range byte(5) {
				r.add(numbered(1+i), &waits.Request{}, 10*int(1+i))
			}
			bytes := 0
			for _, i := range c.stored {
				if _, ok := r.requests[numbered(i)]; !ok {
					t.Errorf("result %d is gone", i)
				}
				bytes += 10 * int(i)
			}
			if len(r.requests) != len(c.stored) || len(r.order) != len(c.stored) || r.evicted != c.evicted || r.bytes != bytes {
				t.Errorf("got %d results, %d evicted, %d bytes; want %d, %d, %d", len(r.requests), r.evicted, r.bytes, len(c.stored), c.evicted, bytes)
			}
		})
	}
}

// A result that comes again replaces the first one.
func TestResultReplaced(t *testing.T) {
	r := newResults(2, 100)
	second := &waits.Request{}
	r.add(local.ID{}, &waits.Request{}, 60)
	r.add(local.ID{}, second, 70)
	if r.requests[local.ID{}].request != second || r.bytes != 70 || r.evicted != 0 || len(r.order) != 1 {
		t.Errorf("got %+v", r)
	}
}

// Of a result that is too large the causes stay, and the goroutines go.
func TestCausesOfALargeResultStay(t *testing.T) {
	r := newResults(2, 10_000)
	large := &waits.Request{
		Name: "GET /", Omitted: 3, Causes: []waits.Cause{{Kind: waits.Mutex, Duration: 7}},
		Goroutines: []waits.Goroutine{{Intervals: make([]waits.Interval, 1000)}, {}},
	}
	small := &waits.Request{}
	r.add(local.ID{Span: [8]byte{1}}, small, sizeOf(small))
	r.add(local.ID{Span: [8]byte{2}}, large, sizeOf(large))
	got := r.requests[local.ID{Span: [8]byte{2}}].request
	if got == nil || got.Sentence() != large.Sentence() || len(got.Goroutines) != 0 || got.Omitted != 5 || len(large.Goroutines) != 2 {
		t.Errorf("kept is %+v, want the causes and 5 goroutines omitted", got)
	}
	if len(r.requests) != 2 || r.evicted != 0 || r.tooLarge != 1 || r.bytes > 10_000 {
		t.Errorf("%d results with %d bytes, %d evicted, %d too large; want both, 0, 1", len(r.requests), r.bytes, r.evicted, r.tooLarge)
	}
}

// A stack that a result has several times counts once.
func TestSizeOf(t *testing.T) {
	stack := []waits.Frame{{Function: "main.slow", File: "main.go"}, {Function: "main.main", File: "main.go"}}
	by := &waits.Party{Function: "main.slow", Stack: stack}
	intervals := []waits.Interval{{Stack: stack, By: by}, {Stack: stack, By: by}, {}}
	r := &waits.Request{Name: "GET /", Goroutines: []waits.Goroutine{{Intervals: intervals}}, Causes: []waits.Cause{{By: by}}}
	want := int(unsafe.Sizeof(*r)+unsafe.Sizeof(r.Goroutines[0])+3*unsafe.Sizeof(intervals[0])+unsafe.Sizeof(*by)+2*unsafe.Sizeof(stack[0])+unsafe.Sizeof(r.Causes[0])) +
		len("GET /") + len("main.slow") + len("main.main")
	// The linker may share equal texts or not.
	if got := sizeOf(r); got < want+len("main.go") || got > want+2*len("main.go")+len("main.slow") {
		t.Errorf("got %d, want about %d", got, want)
	}
}
