package goruntime

import (
	"context"
	"fmt"
	"reflect"
	"runtime/pprof"
	"slices"
	"sync"
	"unsafe"
)

// Labels returns the calling goroutine's profiler labels: a *runtime/pprof.labelMap,
// which the goroutine shares with others, or nil.
func Labels() unsafe.Pointer { return getProfLabel() }

// SetLabels sets the calling goroutine's profiler labels to what [Labels] returned, to
// nil, or to a *[LabelSet] if [CheckLabels] returned nil.
func SetLabels(labels unsafe.Pointer) { setProfLabel(labels) }

//go:linkname getProfLabel runtime/pprof.runtime_getProfLabel
func getProfLabel() unsafe.Pointer

//go:linkname setProfLabel runtime/pprof.runtime_setProfLabel
func setProfLabel(labels unsafe.Pointer)

// A LabelSet is a goroutine's labels in memory, if [CheckLabels] returns nil. It does not
// change once a goroutine has it. List is sorted by key and has no key twice.
type LabelSet struct{ List []Label }

// A Label is one profiler label.
type Label struct{ Key, Value string }

// CheckLabels returns an error unless [LabelSet] is what the runtime's labels point to.
// It checks once in a process.
func CheckLabels() error { return checkLabels() }

var checkLabels = sync.OnceValue(testLabels)

func testLabels() error {
	if portable {
		return errPortable
	}
	set := [2]string{"perfline", "self-test"}
	more := [2]string{"zone", "b"}
	ctx := pprof.WithLabels(context.Background(), pprof.Labels(set[0], set[1], more[0], more[1]))
	if err := sameLayout(labelMapType(ctx), reflect.TypeFor[LabelSet]()); err != nil {
		return fmt.Errorf("the labels of goroutines have another layout: %w", err)
	}
	before := Labels()
	defer SetLabels(before)
	pprof.SetGoroutineLabels(ctx)
	want := []Label{{set[0], set[1]}, {more[0], more[1]}}
	if got := (*LabelSet)(Labels()); got == nil || !slices.Equal(got.List, want) {
		return fmt.Errorf("a goroutine with the labels %v does not have them", want)
	}
	return nil
}

// labelMapType is the type of what runtime/pprof puts into ctx for its labels, or nil.
func labelMapType(ctx context.Context) reflect.Type {
	probe := &contextProbe{Context: ctx}
	pprof.Label(probe, "")
	t := reflect.TypeOf(probe.value)
	if t == nil || t.Kind() != reflect.Pointer {
		return nil
	}
	return t.Elem()
}

// A contextProbe remembers the last value that was asked of it. The key of
// runtime/pprof is not exported.
type contextProbe struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	value           any
}

func (p *contextProbe) Value(key any) any {
	p.value = p.Context.Value(key)
	return p.value
}

// sameLayout returns an error unless values of both types have the same kinds of fields
// at the same places. Names do not count, and a struct is as good as its only field.
func sameLayout(got, want reflect.Type) error {
	if got == nil {
		return fmt.Errorf("there is no pointer where %v was expected", want)
	}
	for _, t := range []*reflect.Type{&got, &want} {
		for (*t).Kind() == reflect.Struct && (*t).NumField() == 1 {
			*t = (*t).Field(0).Type
		}
	}
	if got.Kind() != want.Kind() || got.Size() != want.Size() {
		return fmt.Errorf("%v (%d bytes) where %v (%d bytes) was expected", got, got.Size(), want,
			want.Size())
	}
	switch want.Kind() {
	case reflect.Slice:
		return sameLayout(got.Elem(), want.Elem())
	case reflect.Struct:
		if got.NumField() != want.NumField() {
			return fmt.Errorf("%v has %d fields where %d were expected", got, got.NumField(),
				want.NumField())
		}
		for i := range want.NumField() {
			if got.Field(i).Offset != want.Field(i).Offset {
				return fmt.Errorf("%v has field %d at %d where %d was expected", got, i,
					got.Field(i).Offset, want.Field(i).Offset)
			}
			if err := sameLayout(got.Field(i).Type, want.Field(i).Type); err != nil {
				return err
			}
		}
	default: // a kind without parts
	}
	return nil
}
