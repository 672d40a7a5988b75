package flight

import (
	"hash/maphash"
	"slices"
	"strings"
	"unsafe"

	"github.com/perfline/perfline/waits"
)

// A pool shares equal stacks and equal texts between the results of a recorder, which repeat the
// same calls of the program. The pool counts the memory of each once, and frees a stack or a text
// with its last result.
type pool struct {
	seed   maphash.Seed
	texts  map[string]*shared
	stacks map[uint64]*shared // by the hash of their frames
	bytes  int
}

// A shared is a text or a stack in the pool.
type shared struct {
	text  string
	stack []waits.Frame
	hash  uint64
	users int // results
}

// entryBytes is the approximate memory of an entry in a map, with its key.
const entryBytes = 48

func newPool() pool {
	return pool{seed: maphash.MakeSeed(), texts: map[string]*shared{}, stacks: map[uint64]*shared{}}
}

// release drops the references of a result.
func (p *pool) release(all []*shared) {
	for _, s := range all {
		if s.users--; s.users > 0 {
			continue
		}
		p.bytes -= s.bytes()
		if len(s.stack) == 0 {
			delete(p.texts, s.text)
		} else if p.stacks[s.hash] == s {
			delete(p.stacks, s.hash)
		}
	}
}

func (s *shared) bytes() int {
	return int(unsafe.Sizeof(*s)) + entryBytes + len(s.text) +
		len(s.stack)*int(unsafe.Sizeof(waits.Frame{}))
}

// A sharer replaces the stacks and texts of one result by the pool's.
type sharer struct {
	p       *pool
	uses    map[*shared]bool
	stacks  map[stackKey]*shared // the result's own
	parties map[*waits.Party]bool
}

// A stackKey identifies a stack by its memory.
type stackKey struct {
	first *waits.Frame
	n     int
}

// share replaces the stacks and texts of r, which no other goroutine has yet. It returns the parts
// of the pool that r refers to, and the approximate memory of all other parts.
func (p *pool) share(r *waits.Request) (uses []*shared, bytes int) {
	s := &sharer{p: p, uses: map[*shared]bool{}, stacks: map[stackKey]*shared{},
		parties: map[*waits.Party]bool{}}
	bytes = int(unsafe.Sizeof(result{})+unsafe.Sizeof(*r)) + entryBytes
	s.text(&r.Name)
	for i := range r.Goroutines {
		g := &r.Goroutines[i]
		s.text(&g.Function)
		bytes += cap(g.Intervals) * int(unsafe.Sizeof(waits.Interval{}))
		for j := range g.Intervals {
			s.stack(&g.Intervals[j].Stack)
			s.party(g.Intervals[j].By)
		}
	}
	bytes += cap(r.Goroutines) * int(unsafe.Sizeof(waits.Goroutine{}))
	for i := range r.Causes {
		c := &r.Causes[i]
		s.text(&c.Function)
		s.text(&c.Via)
		s.text(&c.Span)
		s.party(c.By)
		s.party(c.In)
	}
	bytes += cap(r.Causes) * int(unsafe.Sizeof(waits.Cause{}))
	bytes += len(s.parties) * int(unsafe.Sizeof(waits.Party{}))
	uses = make([]*shared, 0, len(s.uses))
	for x := range s.uses {
		uses = append(uses, x)
	}
	return uses, bytes + len(uses)*int(unsafe.Sizeof(uses[:1][0]))
}

func (s *sharer) use(x *shared) {
	if s.uses[x] {
		return
	}
	s.uses[x] = true
	if x.users++; x.users == 1 {
		s.p.bytes += x.bytes()
	}
}

func (s *sharer) text(t *string) {
	if *t == "" {
		return
	}
	x := s.p.texts[*t]
	if x == nil {
		x = &shared{text: strings.Clone(*t)} // a part of a longer text would retain the whole
		s.p.texts[x.text] = x
	}
	s.use(x)
	*t = x.text
}

func (s *sharer) party(p *waits.Party) {
	if p == nil || s.parties[p] {
		return
	}
	s.parties[p] = true
	s.text(&p.Function)
	s.text(&p.Request)
	s.stack(&p.Stack)
}

func (s *sharer) stack(frames *[]waits.Frame) {
	if len(*frames) == 0 {
		*frames = nil
		return
	}
	key := stackKey{&(*frames)[0], len(*frames)}
	x := s.stacks[key]
	if x == nil {
		x = s.find(*frames)
		s.stacks[key] = x
	}
	s.use(x)
	*frames = x.stack
}

// find returns the pool's stack with these frames, or adds one. If the hashes of two stacks
// collide, which is very unlikely, the pool does not share the second one.
func (s *sharer) find(frames []waits.Frame) *shared {
	var h maphash.Hash
	h.SetSeed(s.p.seed)
	frames = slices.Clone(frames)
	for i := range frames {
		s.text(&frames[i].Function)
		s.text(&frames[i].File)
		maphash.WriteComparable(&h, frames[i])
	}
	hash := h.Sum64()
	known := s.p.stacks[hash]
	if known != nil && slices.Equal(known.stack, frames) {
		return known
	}
	x := &shared{stack: slices.Clip(frames), hash: hash}
	if known == nil {
		s.p.stacks[hash] = x
	}
	return x
}
