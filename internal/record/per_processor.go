package record

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// maxParts is how many parts a PerProcessor has.
const maxParts = 64

// A PerProcessor is divided into parts, so that processors do not meet at one lock or at one line
// of their caches. A processor mostly gets the part that it had before. There are as many parts as
// the program has processors, and at most 64. The zero value is ready for use.
type PerProcessor[T any] struct {
	parts [maxParts]T
	used  atomic.Uint32 // parts that may have been given away
	next  atomic.Uint32
	near  sync.Pool // of *T; a garbage collection may empty it
}

// Near returns the part of the processor that runs the calling goroutine. Others may use it at the
// same time.
func (p *PerProcessor[T]) Near() *T {
	part, ok := p.near.Get().(*T)
	if !ok {
		part = p.another()
	}
	p.near.Put(part)
	return part
}

func (p *PerProcessor[T]) another() *T {
	processors := uint32(min(runtime.GOMAXPROCS(0), maxParts)) //nolint:gosec // small
	i := (p.next.Add(1) - 1) % processors
	for used := p.used.Load(); used <= i && !p.used.CompareAndSwap(used, i+1); {
		used = p.used.Load()
	}
	return &p.parts[i]
}

// All ranges over the parts that Near may have returned.
func (p *PerProcessor[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range p.used.Load() {
			if !yield(&p.parts[i]) {
				return
			}
		}
	}
}
