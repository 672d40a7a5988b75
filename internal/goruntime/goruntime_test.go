//go:build !perfline_portable

package goruntime

import (
	"context"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"unsafe"

	"github.com/perfline/perfline/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Every supported release of Go has the fast ways.
func TestChecksPass(t *testing.T) {
	if err := CheckLabels(); err != nil {
		t.Errorf("CheckLabels: %v", err)
	}
	if err := CheckGoroutineProfile(); err != nil {
		t.Errorf("CheckGoroutineProfile: %v", err)
	}
	if runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" {
		if id := GoroutineID(); id == 0 || id != printedID() {
			t.Errorf("GoroutineID is %d, runtime.Stack prints %d", id, printedID())
		}
	}
}

func TestCheckLabelsLeavesTheGoroutinesLabels(t *testing.T) {
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("app", "shop")))
	defer pprof.SetGoroutineLabels(context.Background())
	before := Labels()
	if err := testLabels(); err != nil || Labels() != before {
		t.Errorf("CheckLabels: %v; the labels were %p and are %p", err, before, Labels())
	}
}

// A runtime whose labels lie in memory in another way is refused.
func TestOtherLayouts(t *testing.T) {
	type pair struct{ Key, Value string }
	want := reflect.TypeFor[LabelSet]()
	for name, c := range map[string]struct {
		got  reflect.Type
		fits bool
	}{
		"go 1.26": {reflect.TypeFor[struct{ s struct{ list []pair } }](), true},
		"a slice": {reflect.TypeFor[[]pair](), true},
		"a map":   {reflect.TypeFor[map[string]string](), false},
		"a field more in the set": {reflect.TypeFor[struct {
			list []pair
			hash uint64
		}](), false},
		"a field more in the label": {reflect.TypeFor[struct {
			list []struct {
				pair
				n int
			}
		}](), false},
		"numbers in the label": {reflect.TypeFor[struct {
			list []struct {
				key string
				a   [2]int
			}
		}](), false},
		"labels by pointer": {reflect.TypeFor[struct{ list []*pair }](), false},
		"nothing":           {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := sameLayout(c.got, want); (err == nil) != c.fits {
				t.Errorf("sameLayout: %v, want it to fit: %v", err, c.fits)
			}
		})
	}
}

// Two goroutines never have the same number, also when the second gets the first one's g.
func TestGoroutineIDsAreNotUsedAgain(t *testing.T) {
	if GoroutineID() == 0 {
		t.Skip("there is no GoroutineID on", runtime.GOARCH)
	}
	ids, gs, again := map[uint64]bool{}, map[uintptr]bool{}, 0
	for range 1000 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			id, g := GoroutineID(), uintptr(getg())
			if id == 0 || ids[id] {
				t.Errorf("goroutine %d was there before", id)
			}
			if gs[g] {
				again++
			}
			ids[id], gs[g] = true, true
		}()
		<-done
	}
	if again == 0 {
		t.Error("the runtime used no g twice: the test shows nothing")
	}
}

// Goroutine profiles that are not what the check expects are refused.
func TestOtherGoroutineProfiles(t *testing.T) {
	ready, quit := make(chan unsafe.Pointer), make(chan struct{})
	go labelledGoroutine(ready, quit)
	labels := <-ready
	defer func() { quit <- struct{}{} }()
	type profile = func([]StackRecord, []unsafe.Pointer) (int, bool)
	changed := func(change func(records []StackRecord, tags []unsafe.Pointer, n int)) profile {
		return func(records []StackRecord, tags []unsafe.Pointer) (int, bool) {
			n, ok := GoroutineProfile(records, tags)
			if ok && len(records) > 0 {
				change(records, tags, n)
			}
			return n, ok
		}
	}
	for name, c := range map[string]struct {
		profile profile
		want    string // of the error; "" for none
	}{
		"as it is": {GoroutineProfile, ""},
		"longer records": {changed(func(records []StackRecord, _ []unsafe.Pointer, _ int) {
			next := unsafe.Add(unsafe.Pointer(unsafe.SliceData(records)), len(records)*int(unsafe.Sizeof(records[0])))
			*(*StackRecord)(next) = records[0]
		}), "wrote behind"},
		"longer labels": {changed(func(_ []StackRecord, tags []unsafe.Pointer, _ int) {
			*(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(tags)), len(tags)*int(unsafe.Sizeof(tags[0])))) = labels
		}), "wrote behind"},
		"no labels":                 {changed(func(_ []StackRecord, tags []unsafe.Pointer, _ int) { clear(tags) }), "lacks"},
		"no stacks":                 {changed(func(records []StackRecord, _ []unsafe.Pointer, _ int) { clear(records) }), "the caller's"},
		"no stack but the caller's": {changed(func(records []StackRecord, _ []unsafe.Pointer, _ int) { clear(records[1:]) }), "lacks"},
		"the caller is last": {changed(func(records []StackRecord, _ []unsafe.Pointer, n int) {
			records[0], records[n-1] = records[n-1], records[0]
		}), "the caller's"},
		"never enough room": {func([]StackRecord, []unsafe.Pointer) (int, bool) { return 3, false }, "grew"},
		"no records":        {func([]StackRecord, []unsafe.Pointer) (int, bool) { return 0, true }, "records, want"},
		"too many records":  {func(r []StackRecord, _ []unsafe.Pointer) (int, bool) { return 1000 * len(r), true }, "records, want"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkRecords(labels, c.profile)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("checkRecords: %v, want an error with %q", err, c.want)
			}
		})
	}
}
