// Package underway keeps what there is to do at the end of spans that have not ended.
package underway

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
)

// A Table keeps a pointer for each span that has not ended, and a bounded number of them. The zero
// value is an empty table. Its methods may be called concurrently. A span's id says where to look,
// because ids are random.
type Table[T any] struct {
	shards    [shards]shard[T]
	forgotten atomic.Uint64
}

// A span's id alone is unique only in its trace.
type key struct {
	trace trace.TraceID
	span  trace.SpanID
}

func keyOf(sc trace.SpanContext) key { return key{sc.TraceID(), sc.SpanID()} }

// A shard is a hash table that uses its entries again. A map takes twice as long for what most
// spans do, which is to come and to go.
type shard[T any] struct {
	mu    sync.Mutex // guards what follows
	lists [lists]*entry[T]
	free  *entry[T] // emptied
	n     int       // in lists
	_     [128]byte // no cache line in common with the next
}

type entry[T any] struct {
	key   key
	value *T
	next  *entry[T]
}

const (
	shards = 16
	// lists are few, to stay in the processor's cache: most programs have some hundred spans under
	// way at a time.
	lists = 16
	// maxInShard bounds programs that never end some of their spans. In the end only those are in a
	// full shard, and one of them makes room.
	maxInShard = 1 << 10
)

// Max is the number of spans in a full table.
const Max = shards * maxInShard

func (t *Table[T]) shard(k key) *shard[T] { return &t.shards[k.span[7]%shards] }

// find returns the place that refers to a span, or that would if the span were there. s.mu is held.
func (s *shard[T]) find(k key) **entry[T] {
	at := &s.lists[k.span[6]%lists]
	for *at != nil && (*at).key != k {
		at = &(*at).next
	}
	return at
}

// add adds a span, at a place that find returned. s.mu is held.
func (s *shard[T]) add(at **entry[T], k key, v *T) {
	e := s.free
	if e == nil {
		e = &entry[T]{}
	} else {
		s.free = e.next
	}
	e.key, e.value, e.next = k, v, nil
	*at = e
	s.n++
}

// remove removes the span that at refers to. s.mu is held.
func (s *shard[T]) remove(at **entry[T]) *T {
	e := *at
	v := e.value
	*at = e.next
	e.key, e.value, e.next = key{}, nil, s.free
	s.free = e
	s.n--
	return v
}

// Put keeps v for a span. It returns what it no longer keeps because of that: the span's earlier
// value, or the value of a span that made room.
func (t *Table[T]) Put(sc trace.SpanContext, v *T) (out *T) {
	k := keyOf(sc)
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.find(k)
	if e := *at; e != nil {
		out, e.value = e.value, v
		return out
	}
	if s.n >= maxInShard {
		out = s.removeOne(k.span[6] % lists)
		t.forgotten.Add(1)
		at = s.find(k)
	}
	s.add(at, k, v)
	return out
}

// removeOne removes the oldest of a list, or of the next that is not empty. s.mu is held.
func (s *shard[T]) removeOne(list byte) *T {
	for s.lists[list] == nil {
		list = (list + 1) % lists
	}
	return s.remove(&s.lists[list])
}

// Take returns what the table kept for a span, nil for nothing. It keeps it no longer.
func (t *Table[T]) Take(sc trace.SpanContext) *T {
	k := keyOf(sc)
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 { // as for most programs, without a look at cold memory
		return nil
	}
	at := s.find(k)
	if *at == nil {
		return nil
	}
	return s.remove(at)
}

// TakeAll empties the table and returns what it kept.
func (t *Table[T]) TakeAll() (all []*T) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		for list := range s.lists {
			for at := &s.lists[list]; *at != nil; {
				all = append(all, s.remove(at))
			}
		}
		s.mu.Unlock()
	}
	return all
}

// Len returns the number of spans in the table.
func (t *Table[T]) Len() (n int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		n += s.n
		s.mu.Unlock()
	}
	return n
}

// Forgotten returns how many spans made room for others before their end.
func (t *Table[T]) Forgotten() uint64 { return t.forgotten.Load() }
