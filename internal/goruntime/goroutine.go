package goruntime

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
	"unsafe"
)

// GoroutineID returns the number of the calling goroutine, as in "goroutine 7 [running]:". The
// number is unique in the process. GoroutineID returns 0 in these cases:
//
//   - This package contains no assembler for the processor.
//   - The runtime uses an unexpected memory layout.
//
// The address of the runtime's g does not identify a goroutine. The runtime reuses the g for a
// goroutine that starts later.
func GoroutineID() uint64 {
	g := getg()
	at := goidOffset()
	if g == nil || at == 0 {
		return 0
	}
	return *(*uint64)(unsafe.Add(g, at))
}

// gWords is the number of words of a g that goidOffset searches. A g has more than 50 words in all
// releases so far.
const gWords = 32

// goidOffset returns the offset of the goroutine's number in a g, or 0 if the offset is unknown.
// Several goroutines search their g for the number that runtime.Stack prints. Exactly one offset
// must match in all of them.
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
		go func() { // a new goroutine has a new number
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
