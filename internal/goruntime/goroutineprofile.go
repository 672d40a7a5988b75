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

// A StackRecord contains the stack of one goroutine, innermost return address first. The memory
// layout equals internal/profilerecord.StackRecord.
type StackRecord struct{ Stack []uintptr }

// CheckGoroutineProfile returns an error unless [GoroutineProfile] works as documented. The check
// profiles all goroutines, and runs once in a process.
var CheckGoroutineProfile = sync.OnceValue(func() error {
	switch {
	case portable:
		return errPortable
	case !hasGoroutineProfile:
		return fmt.Errorf("%s is newer than the releases with a known goroutine profile",
			runtime.Version())
	}
	ready, quit := make(chan unsafe.Pointer), make(chan struct{})
	go labelledGoroutine(ready, quit)
	labels := <-ready
	defer func() { quit <- struct{}{} }()
	return checkRecords(labels, GoroutineProfile)
})

// labelledGoroutine sends the labels of its goroutine, and runs until quit.
func labelledGoroutine(ready chan<- unsafe.Pointer, quit <-chan struct{}) {
	pprof.SetGoroutineLabels(
		pprof.WithLabels(context.Background(), pprof.Labels("perfline", "self-test")))
	ready <- Labels()
	<-quit
}

// checkRecords checks a profile. labels are the labels of labelledGoroutine.
func checkRecords(labels unsafe.Pointer,
	profile func([]StackRecord, []unsafe.Pointer) (int, bool)) error {
	n, _ := profile(nil, nil)
	for range 3 {
		size := n + n/4 + 16 // the memory behind size detects a runtime with larger records
		records, tags := make([]StackRecord, 4*size), make([]unsafe.Pointer, 4*size)
		var ok bool
		if n, ok = profile(records[:size:size], tags[:size:size]); !ok {
			continue
		}
		switch {
		case n < 2 || n > size:
			return fmt.Errorf("a goroutine profile has %d records, want 2 to %d", n, size)
		case slices.ContainsFunc(records[size:],
			func(r StackRecord) bool { return r.Stack != nil }),
			slices.ContainsFunc(tags[size:], func(p unsafe.Pointer) bool { return p != nil }):
			return errors.New("a goroutine profile wrote behind the memory of the caller")
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
	return errors.New("the number of goroutines grew during each goroutine profile")
}

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
