package goruntime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/pprof"
	"slices"
	"sync"
	"unsafe"
)

// Labels returns the profiler labels of the calling goroutine. The result is nil or a
// *runtime/pprof.labelMap. Other goroutines may share the labelMap.
//
//go:linkname Labels runtime/pprof.runtime_getProfLabel
func Labels() unsafe.Pointer

// SetLabels sets the profiler labels of the calling goroutine. labels must be one of these values:
//
//   - nil
//   - a result of [Labels]
//   - a *[LabelSet], if [CheckLabels] returned nil
//
//go:linkname SetLabels runtime/pprof.runtime_setProfLabel
func SetLabels(labels unsafe.Pointer)

// A LabelSet contains the labels of a goroutine in the memory layout of the runtime. The layout is
// correct only if [CheckLabels] returns nil. Callers must not change a LabelSet that a goroutine
// uses. List is sorted by key, without duplicate keys.
type LabelSet struct{ List []Label }

// A Label is one profiler label.
type Label struct{ Key, Value string }

// errPortable is the error of all checks in a portable build.
var errPortable = errors.New("this program was built with the tag perfline_portable")

// CheckLabels returns an error unless the labels of the runtime use the layout of [LabelSet]. The
// check runs once in a process.
var CheckLabels = sync.OnceValue(testLabels)

func testLabels() error {
	if portable {
		return errPortable
	}
	ctx := pprof.WithLabels(context.Background(),
		pprof.Labels("perfline", "self-test", "zone", "b"))
	if err := sameLayout(labelMapType(ctx), reflect.TypeFor[LabelSet]()); err != nil {
		return fmt.Errorf("the labels of goroutines have another layout: %w", err)
	}
	before := Labels()
	defer SetLabels(before)
	pprof.SetGoroutineLabels(ctx)
	want := []Label{{"perfline", "self-test"}, {"zone", "b"}}
	if got := (*LabelSet)(Labels()); got == nil || !slices.Equal(got.List, want) {
		return fmt.Errorf("a goroutine with the labels %v does not have them", want)
	}
	return nil
}

// labelMapType returns the type of the labels that runtime/pprof puts into ctx, or nil.
func labelMapType(ctx context.Context) reflect.Type {
	probe := &contextProbe{Context: ctx}
	pprof.Label(probe, "")
	t := reflect.TypeOf(probe.value)
	if t == nil || t.Kind() != reflect.Pointer {
		return nil
	}
	return t.Elem()
}

// A contextProbe records the last value that a caller asked for: runtime/pprof does not export the
// key of its labels.
type contextProbe struct {
	context.Context //nolint:containedctx // a context that wraps its parent
	value           any
}

func (p *contextProbe) Value(key any) any {
	p.value = p.Context.Value(key)
	return p.value
}

// sameLayout returns an error unless values of both types have fields of the same kinds at the same
// offsets. Names do not count. A struct with one field equals that field.
func sameLayout(got, want reflect.Type) error {
	if got == nil {
		return fmt.Errorf("no pointer, want %v", want)
	}
	for _, t := range []*reflect.Type{&got, &want} {
		for (*t).Kind() == reflect.Struct && (*t).NumField() == 1 {
			*t = (*t).Field(0).Type
		}
	}
	if got.Kind() != want.Kind() || got.Size() != want.Size() {
		return fmt.Errorf("%v (%d bytes), want %v (%d bytes)", got, got.Size(), want, want.Size())
	}
	switch want.Kind() {
	case reflect.Slice:
		return sameLayout(got.Elem(), want.Elem())
	case reflect.Struct:
		if got.NumField() != want.NumField() {
			return fmt.Errorf("%v has %d fields, want %d", got, got.NumField(), want.NumField())
		}
		for i := range want.NumField() {
			g, w := got.Field(i), want.Field(i)
			if g.Offset != w.Offset {
				return fmt.Errorf("%v has field %d at %d, want %d", got, i, g.Offset, w.Offset)
			}
			if err := sameLayout(g.Type, w.Type); err != nil {
				return err
			}
		}
	default: // a kind without parts
	}
	return nil
}
