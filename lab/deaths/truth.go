package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"
)

// The truth is a mapped file, in which the service notes its requests without perfline. The command
// makes the file, and reads the file while the service lives and after its death. All times are
// nanoseconds since the truth was opened in the service.
type truth struct {
	head    *truthHead
	records []record
	base    time.Time
}

type truthHead struct {
	next  atomic.Int64 // records in use
	alive atomic.Int64 // the last tick
	_     [48]byte
}

// A record is what the service notes of a request. A moment that was not reached is 0. Between
// began and done, the request is open for certain. From left on, it is finished for certain.
// Between arrived and began, and between done and left, the middleware works.
type record struct {
	trace   trace.TraceID
	arrived atomic.Int64 // before the middleware
	began   atomic.Int64 // in the handler
	done    atomic.Int64 // the handler's last act
	left    atomic.Int64 // after the middleware
	entries atomic.Int64 // marks, measures and child spans that have ended
	steps   atomic.Int64 // marks
}

const (
	maxRecords = 1 << 18
	tick       = time.Millisecond
)

var truthSize = int(unsafe.Sizeof(truthHead{})) + maxRecords*int(unsafe.Sizeof(record{}))

// makeTruth makes the file.
func makeTruth(name string) (*truth, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = errors.Join(f.Truncate(int64(truthSize)), f.Close())
	if err != nil {
		return nil, err
	}
	return openTruth(name)
}

// openTruth maps the file.
func openTruth(name string) (*truth, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	mem, err := syscall.Mmap(int(f.Fd()), 0, truthSize, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", name, err)
	}
	head := (*truthHead)(unsafe.Pointer(&mem[0]))
	first := (*record)(unsafe.Pointer(&mem[unsafe.Sizeof(truthHead{})]))
	return &truth{head, unsafe.Slice(first, maxRecords), time.Now()}, nil
}

// close unmaps the file.
func (t *truth) close() error {
	return syscall.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(t.head)), truthSize))
}

func (t *truth) now() int64 { return max(1, int64(time.Since(t.base))) }

// live ticks until the process ends.
func (t *truth) live() {
	for range time.Tick(tick) {
		t.head.alive.Store(t.now())
	}
}

// add returns the record of a request that arrives.
func (t *truth) add(id trace.TraceID) *record {
	r := &t.records[t.head.next.Add(1)-1]
	r.trace = id
	r.arrived.Store(t.now())
	return r
}

// used returns the records in use.
func (t *truth) used() []record { return t.records[:t.head.next.Load()] }

// last returns the last moment of the process that is known.
func (t *truth) last() int64 {
	last := t.head.alive.Load()
	for i := range t.used() {
		r := &t.records[i]
		last = max(last, r.arrived.Load(), r.began.Load(), r.done.Load(), r.left.Load())
	}
	return last
}

type recordKey struct{}

func recordOf(ctx context.Context) *record {
	r, _ := ctx.Value(recordKey{}).(*record)
	return r
}

// around notes the requests that have a trace id, around the middleware.
func (t *truth) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := traceOf(r.Header.Get("Traceparent"))
		if err != nil {
			next.ServeHTTP(w, r)
			return
		}
		note := t.add(id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), recordKey{}, note)))
		note.left.Store(t.now())
	})
}

func traceOf(traceparent string) (trace.TraceID, error) {
	const from, to = 3, 35 // 00-TRACE-SPAN-01
	if len(traceparent) < to {
		return trace.TraceID{}, errors.New("no traceparent")
	}
	return trace.TraceIDFromHex(traceparent[from:to])
}

// inside notes when the handler begins and ends.
func (t *truth) inside(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		note := recordOf(r.Context())
		note.began.Store(t.now())
		next(w, r)
		note.done.Store(t.now())
	}
}
