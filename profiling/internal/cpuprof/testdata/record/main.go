// Record writes what a process reads from the log of the runtime's CPU profiler, as text: see the
// README beside this folder.
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <signal.h>

// Of a thread that is not Go's: the runtime notes these samples apart, and adds them to the log later.
static void *raise_some(void *n) {
	for (long i = 0; i < (long)n; i++) raise(SIGPROF);
	return 0;
}

static void on_a_thread(long n) {
	pthread_t t;
	if (pthread_create(&t, 0, raise_some, (void *)n) == 0) pthread_join(t, 0);
}
*/
import "C"

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
)

const (
	hz   = 250
	full = 1<<14 + 100 // more signals than the log has room for
	// keep is how many records of a read are written, half of them from its end: the log is long
	// where it is full.
	keep = 12
)

// A step makes records of the log.
type step struct {
	name string
	make func()
}

var steps = []step{
	{"own signals, under labels and without", func() {
		signals(2)
		pprof.Do(context.Background(), pprof.Labels("app", "shop", "step", "pay"), func(context.Context) { signals(2) })
		pprof.Do(context.Background(), pprof.Labels("app", "shop"), func(context.Context) { signals(1) })
	}},
	{"the kernel's signals, for a time of work", func() { burn(100 * time.Millisecond) }},
	{"a stack that is deeper than the runtime keeps", func() { deep(100) }},
	{"a thread that is not Go's", func() { C.on_a_thread(3); signals(1) }},
	{"more samples of such a thread than the runtime notes", func() { C.on_a_thread(400); signals(1) }},
	{"more signals than the log has room for", func() { signals(full) }},
	{"a signal after the log was full", func() { signals(1) }},
}

func main() {
	runtime.LockOSThread()
	runtime.SetCPUProfileRate(hz)
	defer runtime.SetCPUProfileRate(0)
	fmt.Printf("# %s %s/%s, recorded by testdata/record\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	w := writer{functions: map[uint64]string{}}
	for _, s := range steps {
		s.make()
		fmt.Printf("step %s\n", s.name)
		for range 2 { // a read ends where the log wraps around
			signals(1) // which lets the read below not sleep
			w.read()
		}
	}
	runtime.SetCPUProfileRate(0)
	fmt.Println("step the end")
	for w.read() {
	}
	fmt.Print(w.symbols())
}

//go:noinline
func signals(n int) {
	for range n {
		if err := syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), syscall.SIGPROF); err != nil {
			log.Fatal(err)
		}
	}
}

var sink uint64

//go:noinline
func burn(length time.Duration) {
	for began := time.Now(); time.Since(began) < length; {
		for i := range uint64(1000) {
			sink = sink*6364136223846793005 + i
		}
	}
}

//go:noinline
func deep(depth int) {
	if depth > 0 {
		deep(depth - 1)
	} else {
		signals(1)
	}
	sink++ // no tail call
}

// A writer writes reads of the log.
type writer struct {
	functions map[uint64]string // by program counter
}

// read writes one read: a line for each record, with its words and its labels. It returns false at
// the end of the log.
func (w *writer) read() bool {
	data, tags, eof := goruntime.ReadProfile()
	if eof {
		return false
	}
	fmt.Println("read")
	var lines []string
	for _, tag := range tags {
		lines = append(lines, w.line(data[:data[0]], tag))
		data = data[data[0]:]
	}
	if n := len(lines); n > keep {
		lines = slices.Concat(lines[:keep/2], []string{fmt.Sprintf("# %d records were left out", n-keep)}, lines[n-keep/2:])
	}
	fmt.Println(strings.Join(lines, "\n"))
	return true
}

func (w *writer) line(record []uint64, tag unsafe.Pointer) string {
	var b strings.Builder
	for i, word := range record {
		if i < 3 || record[2] == 0 {
			fmt.Fprintf(&b, "%d ", word)
			continue
		}
		fmt.Fprintf(&b, "%#x ", word)
		if f, _ := runtime.CallersFrames([]uintptr{uintptr(word)}).Next(); f.Function != "" {
			w.functions[word] = f.Function
		}
	}
	if tag != nil {
		for _, l := range (*goruntime.LabelSet)(tag).List {
			fmt.Fprintf(&b, "%s=%s ", l.Key, l.Value)
		}
	}
	return strings.TrimSpace(b.String())
}

// symbols returns a line for each program counter.
func (w *writer) symbols() string {
	var lines []string
	for pc, name := range w.functions {
		lines = append(lines, fmt.Sprintf("%#x %s\n", pc, name))
	}
	slices.Sort(lines)
	return "symbols\n" + strings.Join(lines, "")
}

func init() { log.SetOutput(os.Stderr) }
