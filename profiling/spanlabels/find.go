package spanlabels

import (
	"crypto/rand"
	"sync"
	"unsafe"
)

// text is the ids of a Span as its labels have them: their strings point into it,
// wherever they were copied to, and so tell that a label is of a Span, and of which.
//
// The secret between them is read only when it is certain that this is memory of the
// same object as both strings'. The last byte of span and the first of trace
// are in one aligned word of 8 bytes. Go's heap gives no two objects a share of
// such a word but those of less than 16 bytes, and both strings are longer; other
// memory is never readable in part of a word. So two separate strings, wherever
// they are, are not taken for these two. What is left is a string cut in two at that
// very place, and that does not have the secret in between.
type text struct {
	_      [1]byte
	span   [16]byte
	secret [6]byte
	trace  [32]byte
	_      [1]byte
}

const (
	traceAfterSpan = unsafe.Offsetof(text{}.trace) - unsafe.Offsetof(text{}.span)
	textLen        = traceAfterSpan + unsafe.Sizeof(text{}.trace)
	spanAt         = unsafe.Offsetof(Span{}.text) + unsafe.Offsetof(text{}.span)
)

// Words are of 8 bytes on 32-bit systems too: text stands behind an atomic.Int64,
// which the compiler aligns to 8, as the heap does all objects of 8 bytes or more.
var _ [0 - (spanAt-1)%8]struct{}

var secret = sync.OnceValue(func() *[6]byte {
	s := new([6]byte)
	_, _ = rand.Read(s[:]) // it never fails
	return s
})

// find returns the Span whose labels are in m, or nil. Other code's labels do not count, even
// with the same text.
func find(m *set) *Span {
	if m == nil {
		return nil
	}
	if !layoutKnown() {
		return findByTag(m)
	}
	var span, trace string
	for i, list := 0, m.list; i < len(list); i++ {
		switch list[i].Key {
		case spanIDKey:
			span = list[i].Value
		case traceIDKey:
			trace = list[i].Value
		}
	}
	if len(span) != len(text{}.span) || len(trace) != len(text{}.trace) {
		return nil
	}
	p := unsafe.Pointer(unsafe.StringData(span))
	at := uintptr(p)
	if at%8 != 1 || uintptr(unsafe.Pointer(unsafe.StringData(trace)))-at != traceAfterSpan {
		return nil
	}
	whole := unsafe.String((*byte)(p), textLen)
	if whole[len(span):traceAfterSpan] != string(secret()[:]) {
		return nil
	}
	return (*Span)(unsafe.Add(p, -int(spanAt)))
}
