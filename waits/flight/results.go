package flight

import (
	"slices"
	"unsafe"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/waits"
)

// results stores the most recent requests.
type results struct {
	max, maxBytes int
	requests      map[local.ID]result
	order         []local.ID // the oldest first
	bytes         int
	evicted       uint64
	tooLarge      uint64
}

type result struct {
	request *waits.Request
	bytes   int
}

func newResults(most, maxBytes int) results {
	return results{max: most, maxBytes: maxBytes, requests: map[local.ID]result{}}
}

func (r *results) add(k local.ID, request *waits.Request, bytes int) {
	r.remove(k)
	if bytes > r.maxBytes { // would evict all results
		short := *request
		short.Goroutines, short.Omitted = nil, request.Omitted+len(request.Goroutines)
		if request, bytes = &short, sizeOf(&short); bytes > r.maxBytes {
			r.evicted++
			return
		}
		r.tooLarge++
	}
	r.requests[k] = result{request, bytes}
	r.order = append(r.order, k)
	r.bytes += bytes
	for len(r.order) > r.max || r.bytes > r.maxBytes {
		r.remove(r.order[0])
		r.evicted++
	}
}

func (r *results) remove(k local.ID) {
	old, ok := r.requests[k]
	if !ok {
		return
	}
	delete(r.requests, k)
	r.bytes -= old.bytes
	r.order = slices.DeleteFunc(r.order, func(x local.ID) bool { return x == k })
}

// sizeOf returns the approximate memory of r. Stacks and texts that r refers to several times count
// once. Shared stacks and texts count in each of several results.
func sizeOf(r *waits.Request) int {
	s := sizer{}
	n := int(unsafe.Sizeof(*r)) + s.text(r.Name)
	for i := range r.Goroutines {
		g := &r.Goroutines[i]
		n += int(unsafe.Sizeof(*g)) + s.text(g.Function)
		n += cap(g.Intervals) * int(unsafe.Sizeof(waits.Interval{}))
		for j := range g.Intervals {
			n += s.stack(g.Intervals[j].Stack) + s.party(g.Intervals[j].By)
		}
	}
	for i := range r.Causes {
		c := &r.Causes[i]
		n += int(unsafe.Sizeof(*c)) + s.text(c.Function) + s.text(c.Via) + s.party(c.By) +
			s.party(c.In)
	}
	return n
}

// A sizer holds the addresses of the counted parts.
type sizer map[unsafe.Pointer]bool

func (s sizer) first(p unsafe.Pointer) bool {
	if p == nil || s[p] {
		return false
	}
	s[p] = true
	return true
}

func (s sizer) party(p *waits.Party) int {
	if !s.first(unsafe.Pointer(p)) {
		return 0
	}
	return int(unsafe.Sizeof(*p)) + s.text(p.Function) + s.text(p.Request) + s.stack(p.Stack)
}

func (s sizer) stack(frames []waits.Frame) int {
	if !s.first(unsafe.Pointer(unsafe.SliceData(frames))) {
		return 0
	}
	n := cap(frames) * int(unsafe.Sizeof(waits.Frame{}))
	for i := range frames {
		n += s.text(frames[i].Function) + s.text(frames[i].File)
	}
	return n
}

func (s sizer) text(t string) int {
	if !s.first(unsafe.Pointer(unsafe.StringData(t))) {
		return 0
	}
	return len(t)
}
