package record

import (
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
)

// maxParts is the number of parts of a PerProcessor.
const maxParts = 64

// A PerProcessor stores a separate value of type T, called a part, for each processor. There are at
// most 64 parts. Goroutines on different processors rarely wait for the same lock or the same cache
// line. The zero value is ready for use.
type PerProcessor[T any] struct {
	parts [maxParts]T
	used  atomic.Uint32 // parts that Near may have returned
	next  atomic.Uint32
	near  sync.Pool // of *T; a garbage collection may empty the pool
}

// Near returns a part for the calling goroutine, usually the part of the current processor. Near
// may return the same part to other goroutines.
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

// All yields each part that Near may have returned.
func (p *PerProcessor[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range p.used.Load() {
			if !yield(&p.parts[i]) {
				return
			}
		}
	}
}
