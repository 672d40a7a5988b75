// Package underway stores values of open spans.
package underway

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
)

// A Table stores a value for each open span, usually a pointer. A Table stores at most [Max]
// values. The zero value of Table is an empty table. Several goroutines may call the methods at the
// same time.
//
// Random bytes of the span id select the shard and the list.
type Table[T any] struct {
	shards  [shards]shard[T]
	evicted atomic.Uint64
}

// A key identifies a span: a span's id alone is unique only in its trace.
type key struct {
	trace trace.TraceID
	span  trace.SpanID
}

func keyOf(sc trace.SpanContext) key { return key{sc.TraceID(), sc.SpanID()} }

// A shard is a hash table that reuses its entries. A map takes twice as long for a Put and a Take.
type shard[T any] struct {
	mu    sync.Mutex // guards the following fields
	lists [lists]*entry[T]
	free  *entry[T] // entries for reuse
	n     int       // entries in lists
	_     [128]byte // separates the cache lines of shards
}

type entry[T any] struct {
	key   key
	value T
	next  *entry[T]
}

const (
	shards = 16
	// A few lists stay in the processor's cache: most programs have some hundred open spans.
	lists = 16
	// maxInShard bounds the memory of programs that never end some of their spans. In the end, a
	// full shard stores only such spans, and evicts one of them.
	maxInShard = 1 << 10
)

// Max is the number of spans in a full table.
const Max = shards * maxInShard

func (t *Table[T]) shard(k key) *shard[T] { return &t.shards[k.span[7]%shards] }

// find returns the link to a span's entry, or the nil link for a new entry. s.mu is locked.
func (s *shard[T]) find(k key) **entry[T] {
	at := &s.lists[k.span[6]%lists]
	for *at != nil && (*at).key != k {
		at = &(*at).next
	}
	return at
}

// add adds a span at a link that find returned. s.mu is locked.
func (s *shard[T]) add(at **entry[T], k key, v T) {
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

// remove removes the entry at a link. s.mu is locked.
func (s *shard[T]) remove(at **entry[T]) T {
	e := *at
	v := e.value
	*at = e.next
	var none T
	e.key, e.value, e.next = key{}, none, s.free
	s.free = e
	s.n--
	return v
}

// Put stores v for a span. If the table contains an earlier value of the span, Put replaces and
// returns the earlier value. If the table is full, Put evicts another span and returns the value of
// the evicted span. Otherwise, Put returns the zero value of T.
func (t *Table[T]) Put(sc trace.SpanContext, v T) (out T) {
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
		out = s.evict(k.span[6] % lists)
		t.evicted.Add(1)
		at = s.find(k)
	}
	s.add(at, k, v)
	return out
}

// evict removes the oldest entry of a list, or of the next list with entries. s.mu is locked.
func (s *shard[T]) evict(list byte) T {
	for s.lists[list] == nil {
		list = (list + 1) % lists
	}
	return s.remove(&s.lists[list])
}

// Get returns the value of a span. If the table does not contain the span, Get returns the zero
// value of T.
func (t *Table[T]) Get(sc trace.SpanContext) (v T) {
	k := keyOf(sc)
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := *s.find(k); e != nil {
		v = e.value
	}
	return v
}

// Take removes and returns the value of a span. If the table does not contain the span, Take
// returns the zero value of T.
func (t *Table[T]) Take(sc trace.SpanContext) (v T) {
	k := keyOf(sc)
	s := t.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 { // the usual case, which saves a read of cold memory
		return v
	}
	at := s.find(k)
	if *at == nil {
		return v
	}
	return s.remove(at)
}

// TakeAll removes and returns the values of all spans.
func (t *Table[T]) TakeAll() (all []T) {
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

// Evicted returns the number of spans that Put evicted.
func (t *Table[T]) Evicted() uint64 { return t.evicted.Load() }
