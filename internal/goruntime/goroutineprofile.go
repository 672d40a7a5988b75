package goruntime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"unsafe"
)

// A StackRecord is one goroutine's stack, innermost return address first. It has the
// layout of internal/profilerecord.StackRecord.
type StackRecord struct{ Stack []uintptr }

// GoroutineProfile fills both slices, which have the same length, with the stacks and the
// label pointers of all n goroutines, the caller's first. If they are too short it fills
// nothing and returns false. It leaves out the runtime's own goroutines. It allocates each
// stack. Call it only if [CheckGoroutineProfile] returned nil.
func GoroutineProfile(records []StackRecord, labels []unsafe.Pointer) (n int, ok bool) {
	return goroutineProfileWithLabels(records, labels)
}

// CheckGoroutineProfile returns an error unless [GoroutineProfile] does what it says. It
// checks once in a process, by a profile of all goroutines.
func CheckGoroutineProfile() error { return checkGoroutineProfile() }

var checkGoroutineProfile = sync.OnceValue(func() error {
	switch {
	case portable:
		return errPortable
	case !hasGoroutineProfile:
		return fmt.Errorf("%s is newer than the releases whose goroutine profile is known",
			runtime.Version())
	}
	ready, quit := make(chan unsafe.Pointer), make(chan struct{})
	go labelledGoroutine(ready, quit)
	labels := <-ready
	defer func() { quit <- struct{}{} }()
	return checkRecords(labels, goroutineProfileWithLabels)
})

// labelledGoroutine is on the stack of a goroutine that has labels of its own.
func labelledGoroutine(ready chan<- unsafe.Pointer, quit <-chan struct{}) {
	pprof.SetGoroutineLabels(
		pprof.WithLabels(context.Background(), pprof.Labels("perfline", "self-test")))
	ready <- Labels()
	<-quit
}

// checkRecords takes a profile. labelledGoroutine has the given labels.
func checkRecords(labels unsafe.Pointer,
	profile func([]StackRecord, []unsafe.Pointer) (int, bool)) error {
	n, _ := profile(nil, nil)
	for range 3 {
		// The room behind what is handed over is for records that are longer than expected.
		size := n + n/4 + 16
		records, tags := make([]StackRecord, 4*size), make([]unsafe.Pointer, 4*size)
		var ok bool
		if n, ok = profile(records[:size:size], tags[:size:size]); !ok {
			continue
		}
		switch {
		case n < 2 || n > size:
			return fmt.Errorf("a goroutine profile has %d records, where 2 to %d were expected", n,
				size)
		case slices.ContainsFunc(records[size:],
			func(r StackRecord) bool { return r.Stack != nil }),
			slices.ContainsFunc(tags[size:], func(p unsafe.Pointer) bool { return p != nil }):
			return errors.New("a goroutine profile wrote behind the memory that it was given")
		case !onStack(records[0].Stack, checkRecords):
			return errors.New("the first record of a goroutine profile is not the caller's")
		}
		for i, r := range records[:n] {
			if tags[i] == labels && onStack(r.Stack, labelledGoroutine) {
				return nil
			}
		}
		return errors.New("a goroutine profile lacks a goroutine, its stack or its labels")
	}
	return errors.New("the number of goroutines grew each time that a goroutine profile was taken")
}

// onStack reports whether a return address of stack is in function.
func onStack(stack []uintptr, function any) bool {
	want := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if f.Function == want {
			return true
		}
		if !more {
			return false
		}
	}
}
