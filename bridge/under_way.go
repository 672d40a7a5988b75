package bridge

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
)

// underWay knows what is to be done when spans end that have not ended. A span's id
// says where to look: the SDK's ids are random.
type underWay struct {
	shards   [16]spanShard
	labelled atomic.Bool // whether a span ever had a label
	// Spans that made room for others: with a timeline, with a label.
	unjoined, unlabelled atomic.Uint64
}

// A running is what is known of a span that has not ended.
type running struct {
	tl    *observer.Timeline // the request's that a span of other instrumentation was started under, or nil
	label label
	more  int32 // processors of the span's provider that are to be given the label, besides the first
}

// A spanKey tells spans apart: their ids do in their trace only.
type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func keyOf(sc trace.SpanContext) spanKey { return spanKey{sc.TraceID(), sc.SpanID()} }

// A spanShard is a hash table whose entries are used again: a map takes twice as
// long for what most spans do, to come and to go.
type spanShard struct {
	mu    sync.Mutex // guards what follows
	lists [lists]*spanEntry
	free  *spanEntry // emptied
	n     int        // in lists
	_     [128]byte  // no cache line in common with the next
}

type spanEntry struct {
	key spanKey
	running
	next *spanEntry
}

// lists are few, to stay in the processor's cache: most programs have some hundred spans
// under way at a time.
const lists = 16

// maxUnderWay bounds the spans of one shard, for programs that never end some of
// theirs: in the end those are all there is in a full shard, and one of them makes
// room.
const maxUnderWay = 1 << 10

func (u *underWay) shard(k spanKey) *spanShard { return &u.shards[k.span[7]%16] }

// find is the place that refers to a span, or that would if it were there. s.mu is held.
func (s *spanShard) find(k spanKey) **spanEntry {
	at := &s.lists[k.span[6]%lists]
	for *at != nil && (*at).key != k {
		at = &(*at).next
	}
	return at
}

// add adds a span, at a place that find returned. s.mu is held.
func (s *spanShard) add(at **spanEntry, k spanKey, r running) {
	e := s.free
	if e == nil {
		e = &spanEntry{}
	} else {
		s.free = e.next
	}
	e.key, e.running, e.next = k, r, nil
	*at = e
	s.n++
}

// remove removes the span that at refers to. s.mu is held.
func (s *spanShard) remove(at **spanEntry) running {
	e := *at
	r := e.running
	*at = e.next
	e.key, e.running, e.next = spanKey{}, running{}, s.free
	s.free = e
	s.n--
	return r
}

// add notes r of a span; a label that another processor has noted of it stays.
func (u *underWay) add(k spanKey, r running) {
	if out := u.put(k, r); out != nil {
		out.label.end("") // outside the lock
	}
}

// put is add, and returns what made room, nil for nothing.
func (u *underWay) put(k spanKey, r running) *running {
	if r.label.by != nil && !u.labelled.Load() {
		u.labelled.Store(true)
	}
	s := u.shard(k)
	s.mu.Lock()
	at := s.find(k)
	if *at == nil && s.n < maxUnderWay { // as for most
		s.add(at, k, r)
		s.mu.Unlock()
		return nil
	}
	out := u.replace(s, at, k, r)
	s.mu.Unlock()
	return &out
}

// replace is put for a span that is there, or where there is no room. s.mu is held.
func (u *underWay) replace(s *spanShard, at **spanEntry, k spanKey, r running) (out running) {
	if e := *at; e != nil {
		if r.label.by == nil {
			r.label, r.more = e.label, e.more
		} else {
			out.label = e.label
		}
		e.running = r
		return out
	}
	out = s.removeOne(k.span[6] % lists)
	if out.tl != nil {
		u.unjoined.Add(1)
	}
	if out.label.by != nil {
		u.unlabelled.Add(1)
	}
	s.add(s.find(k), k, r)
	return out
}

// removeOne removes the oldest of a list, or of the next that is not empty. s.mu is held.
func (s *spanShard) removeOne(list byte) running {
	for s.lists[list] == nil {
		list = (list + 1) % lists
	}
	return s.remove(&s.lists[list])
}

// take is what is known of a span that has ended. The label stays for the other
// processors of its provider.
func (u *underWay) take(k spanKey) running {
	s := u.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 { // as for most programs, without a look at cold memory
		return running{}
	}
	at := s.find(k)
	e := *at
	if e == nil {
		return running{}
	}
	if e.more == 0 {
		return s.remove(at)
	}
	r := e.running
	e.more--
	e.tl = nil
	return r
}

// takeLabel leaves the rest for other processors, and what is for them.
func (u *underWay) takeLabel(k spanKey) label {
	s := u.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.find(k)
	e := *at
	if e == nil {
		return label{}
	}
	l := e.label
	if e.more > 0 {
		e.more--
		return l
	}
	e.label = label{}
	if e.tl == nil {
		s.remove(at)
	}
	return l
}

// forget lets all go: labels end.
func (u *underWay) forget() {
	for i := range u.shards {
		s := &u.shards[i]
		s.mu.Lock()
		var all []running
		for list := range s.lists {
			for at := &s.lists[list]; *at != nil; {
				all = append(all, s.remove(at))
			}
		}
		s.mu.Unlock()
		for _, r := range all {
			r.label.end("")
		}
	}
}
