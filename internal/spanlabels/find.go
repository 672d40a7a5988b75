package spanlabels

import (
	"crypto/rand"
	"sync"
	"unsafe"
)

// An idText holds the ids of a Span as text. The strings of the Span's labels point into the text,
// also after copies. So the strings of a label identify the Span.
//
// find reads the secret between the two ids only when it is memory of the same object. The last
// byte of span and the first of trace are in one aligned word of 8 bytes. In Go's heap, only
// objects of less than 16 bytes share such a word, and both strings are longer. Other memory is
// never readable in part of a word. So two separate strings are never mistaken for these two. A
// string that was split at this very place does not have the secret in between.
type idText struct {
	_      [1]byte
	span   [16]byte
	secret [6]byte
	trace  [32]byte
	_      [1]byte
}

const (
	traceAfterSpan = unsafe.Offsetof(idText{}.trace) - unsafe.Offsetof(idText{}.span)
	textLen        = traceAfterSpan + unsafe.Sizeof(idText{}.trace)
	spanAt         = unsafe.Offsetof(Span{}.text) + unsafe.Offsetof(idText{}.span)
)

// Words have 8 bytes on 32-bit systems, too. text stands behind an atomic.Int64, which the compiler
// aligns to 8. The heap aligns all objects of 8 bytes or more in the same way.
var _ [0 - (spanAt-1)%8]struct{}

var secret = sync.OnceValue(func() *[6]byte {
	s := new([6]byte)
	_, _ = rand.Read(s[:]) // never fails
	return s
})

// find returns the Span whose labels are in m, or nil. Labels of other code do not count, even with
// the same text.
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
	if len(span) != len(idText{}.span) || len(trace) != len(idText{}.trace) {
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
