package goruntime

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
	"unsafe"
)

// GoroutineID is the calling goroutine's number, as in "goroutine 7 [running]:". No two
// goroutines of a process have the same one. It is 0 for all of them if it cannot be
// told: on processors without assembler here, and where the runtime's memory is not as
// expected.
//
// The address of the runtime's g alone does not tell goroutines apart: the runtime uses
// it again for a goroutine that starts later.
func GoroutineID() uint64 {
	g := getg()
	at := goidOffset()
	if g == nil || at == 0 {
		return 0
	}
	return *(*uint64)(unsafe.Add(g, at))
}

// gWords is how many words at the start of a g are searched for the goroutine's number. A
// g has more than 50 words in all releases so far.
const gWords = 32

// goidOffset is where a g has the goroutine's number, or 0 if that is unknown. Several
// goroutines search for the number that runtime.Stack prints. One place must be left.
var goidOffset = sync.OnceValue(func() uintptr {
	if getg() == nil {
		return 0
	}
	var words [gWords]bool
	for i := range words {
		words[i] = true
	}
	for range 4 {
		done := make(chan struct{})
		go func() { // numbers of goroutines that follow each other differ
			defer close(done)
			g, id := getg(), printedID()
			for i := range words {
				words[i] = words[i] && id != 0 && *(*uint64)(unsafe.Add(g, 8*i)) == id
			}
		}()
		<-done
	}
	var found uintptr
	for i, is := range words {
		switch {
		case is && found != 0:
			return 0
		case is:
			found = uintptr(8 * i)
		}
	}
	return found
})

// printedID is the number in "goroutine 7 [running]:", or 0 if that is written otherwise.
func printedID() uint64 {
	var buf [64]byte
	text, found := bytes.CutPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	if !found {
		return 0
	}
	number, _, _ := bytes.Cut(text, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64)
	return id
}
