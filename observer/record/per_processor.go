package record

import (
	"sync"
	"sync/atomic"
)

// maxParts is how many parts a PerProcessor has.
const maxParts = 64

// A PerProcessor is divided into parts, so that processors do not meet at one lock or at one line of their caches. A processor gets the part that
// it had before, nearly always. So a program uses about as many parts as it has processors. The zero value is ready for use.
type PerProcessor[T any] struct {
	parts [maxParts]T
	used  atomic.Int32 // parts that were ever given away
	near  sync.Pool    // of *T
}

// Near returns the part of the processor that runs the calling goroutine. Others may use it at the same time.
func (p *PerProcessor[T]) Near() *T {
	part, ok := p.near.Get().(*T)
	if !ok {
		part = &p.parts[uint32(p.used.Add(1)-1)%maxParts]
	}
	p.near.Put(part)
	return part
}

// Used returns the parts that were ever returned by Near.
func (p *PerProcessor[T]) Used() []T { return p.parts[:min(uint32(p.used.Load()), maxParts)] }
