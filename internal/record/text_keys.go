package record

import (
	"cmp"
	"reflect"
	"slices"
)

// A mapEntry is a key and a value of a map.
type mapEntry struct{ key, value reflect.Value }

// sortedEntries returns up to limit entries of a map, in the order of fmt (internal/fmtsort). They
// are arbitrary entries of a larger map, because sorting would take unbounded time.
func sortedEntries(m reflect.Value, limit int) []mapEntry {
	entries := make([]mapEntry, 0, min(m.Len(), limit))
	for it := m.MapRange(); len(entries) < limit && it.Next(); {
		entries = append(entries, mapEntry{it.Key(), it.Value()})
	}
	slices.SortStableFunc(entries, func(a, b mapEntry) int { return compareKeys(a.key, b.key) })
	return entries
}

// compareKeys orders two keys of one map as fmt does.
func compareKeys(a, b reflect.Value) int {
	switch a.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return cmp.Compare(a.Int(), b.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Uintptr:
		return cmp.Compare(a.Uint(), b.Uint())
	case reflect.String:
		return cmp.Compare(a.String(), b.String())
	case reflect.Float32, reflect.Float64:
		return cmp.Compare(a.Float(), b.Float())
	case reflect.Complex64, reflect.Complex128:
		x, y := a.Complex(), b.Complex()
		return cmp.Or(cmp.Compare(real(x), real(y)), cmp.Compare(imag(x), imag(y)))
	case reflect.Bool:
		return cmp.Compare(ordinal(a.Bool()), ordinal(b.Bool()))
	case reflect.Pointer, reflect.UnsafePointer, reflect.Chan:
		return cmp.Compare(uintptr(a.UnsafePointer()), uintptr(b.UnsafePointer()))
	case reflect.Struct:
		for i := range a.NumField() {
			if c := compareKeys(a.Field(i), b.Field(i)); c != 0 {
				return c
			}
		}
	case reflect.Array:
		for i := range a.Len() {
			if c := compareKeys(a.Index(i), b.Index(i)); c != 0 {
				return c
			}
		}
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return cmp.Compare(ordinal(b.IsNil()), ordinal(a.IsNil())) // nil comes first
		}
		a, b = a.Elem(), b.Elem()
		if a.Type() != b.Type() {
			return cmp.Compare(typeAddress(a), typeAddress(b))
		}
		return compareKeys(a, b)
	default: // a map has no other kinds of keys
	}
	return 0
}

func ordinal(b bool) int {
	if b {
		return 1
	}
	return 0
}

func typeAddress(v reflect.Value) uintptr {
	return uintptr(reflect.ValueOf(v.Type()).UnsafePointer())
}
