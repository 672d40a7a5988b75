package record

import (
	"encoding"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
	"unsafe"
)

// text returns what slog.TextHandler prints for v, without quotes, within the budget.
func (b *budget) text(v any) string {
	var name, s string
	var call func()
	switch m := v.(type) {
	case encoding.TextAppender, encoding.TextMarshaler, fmt.Formatter, reflect.Value:
	case error:
		name, call = "Error", func() { s = m.Error() }
	case fmt.Stringer:
		name, call = "String", func() { s = m.String() }
	}
	if call == nil {
		return b.print(func(p *printer) { p.attribute(v) })
	}
	// Most values are errors and Stringers. Their texts are not copied.
	r, ok := Protect(call)
	switch {
	case !ok:
		return b.print(func(p *printer) { p.methodPanic(name, v, r) })
	case len(s) > b.bytes:
		return b.print(func(p *printer) { p.str(s) })
	}
	b.bytes -= len(s)
	return s
}

// print returns what f prints.
func (b *budget) print(f func(*printer)) string {
	p := &printer{budget: *b, plus: true}
	if r, ok := Protect(func() { f(p) }); !ok {
		// A method panicked while the panic of another was printed.
		*p = printer{budget: *b}
		p.str("!PANIC: ")
		Protect(func() { p.arg(r) }) // of a third panic nothing is printed
	}
	b.elements, b.bytes = p.elements, p.bytes
	return string(p.buf)
}

// Protect calls f and returns what f panicked with. The caller prints that: a method that calls
// runtime.Goexit must not run in a deferred function.
func Protect(f func()) (r any, ok bool) {
	defer func() {
		if !ok {
			r = recover()
		}
	}()
	f()
	return nil, true
}

// A printer prints values as fmt does with %+v, or with %v unless plus is set. fmt has no bounds,
// and does not end in a value that contains itself. The text of a method is cut.
type printer struct {
	budget
	buf       []byte
	path      []visit // slices and maps around the value that is being printed
	plus      bool    // print the names of fields
	panicking bool    // the value being printed was given to panic
	full      bool    // a bound was exceeded, and the mark for that printed
}

// A visit identifies a value on the current path, to detect cycles.
type visit struct {
	t   reflect.Type
	at  unsafe.Pointer
	len int
}

// attribute prints v as slog.TextHandler prints an attribute.
func (p *printer) attribute(v any) {
	switch m := v.(type) {
	case encoding.TextAppender:
		p.marshaler(v, func() ([]byte, error) { return m.AppendText(nil) })
		return
	case encoding.TextMarshaler:
		p.marshaler(v, m.MarshalText)
		return
	}
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Slice &&
		t.Elem().Kind() == reflect.Uint8 {
		p.write(reflect.ValueOf(v).Bytes())
		return
	}
	p.arg(v)
}

func (p *printer) marshaler(v any, marshal func() ([]byte, error)) {
	var text []byte
	var err error
	r, ok := Protect(func() { text, err = marshal() })
	p.plus = false
	switch {
	case !ok && isNilPointer(v):
		p.str("<nil>")
	case !ok:
		p.str("!PANIC: ")
		p.arg(r)
	case err != nil:
		p.str("!ERROR:")
		p.arg(err)
	default:
		p.write(text)
	}
}

// arg prints a value that is not within another one.
func (p *printer) arg(v any) {
	rv, ok := v.(reflect.Value)
	if !ok {
		rv = reflect.ValueOf(v)
	}
	switch {
	case v == nil:
		p.str("<nil>")
	case !rv.IsValid():
		p.str("<invalid reflect.Value>")
	case !rv.CanInterface() || !p.methods(rv.Interface()):
		p.value(rv, 0)
	}
}

// methods prints v by its own methods, if it has one that fmt calls.
func (p *printer) methods(v any) (has bool) {
	switch m := v.(type) {
	case fmt.Formatter:
		p.call("Format", v, func() { m.Format(&state{p}, 'v') })
	case error:
		p.call("Error", v, func() { p.str(m.Error()) })
	case fmt.Stringer:
		p.call("String", v, func() { p.str(m.String()) })
	default:
		return false
	}
	return true
}

func (p *printer) call(name string, v any, method func()) {
	if r, ok := Protect(method); !ok {
		p.methodPanic(name, v, r)
	}
}

// methodPanic prints that a method of v panicked with r.
func (p *printer) methodPanic(name string, v, r any) {
	if isNilPointer(v) {
		p.str("<nil>")
		return
	}
	if p.panicking {
		panic(r) // caught by print
	}
	plus := p.plus
	p.plus, p.panicking = false, true
	p.str("%!v(PANIC=" + name + " method: ")
	p.arg(r)
	p.str(")")
	p.plus, p.panicking = plus, false
}

func isNilPointer(v any) bool {
	rv := reflect.ValueOf(v)
	return rv.Kind() == reflect.Pointer && rv.IsNil()
}

// value prints a value within depth others.
func (p *printer) value(v reflect.Value, depth int) {
	switch {
	case p.full:
		return
	case depth > maxDepth:
		p.str(ellipsis)
		return
	case !p.spend():
		p.end()
		return
	case depth > 0 && v.IsValid() && v.CanInterface() && p.methods(v.Interface()):
		return
	}
	switch v.Kind() {
	case reflect.Invalid:
		p.str("<nil>")
	case reflect.String:
		p.str(v.String())
	case reflect.Interface:
		p.value(v.Elem(), max(depth, 1)) // is no level of its own
	case reflect.Struct:
		p.structure(v, depth)
	case reflect.Array:
		p.list(v, depth)
	case reflect.Slice, reflect.Map:
		p.container(v, depth)
	case reflect.Pointer:
		p.pointer(v, depth)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		p.address(v)
	default: // booleans and numbers
		p.write(fmt.Append(nil, v))
	}
}

// container prints a slice or a map, unless it is being printed already. Nothing else can contain
// itself: inner pointers are printed as addresses.
func (p *printer) container(v reflect.Value, depth int) {
	here := visit{v.Type(), v.UnsafePointer(), v.Len()}
	if slices.Contains(p.path, here) {
		p.str("<cycle>")
		return
	}
	p.path = append(p.path, here)
	if v.Kind() == reflect.Map {
		p.mapping(v, depth)
	} else {
		p.list(v, depth)
	}
	p.path = p.path[:len(p.path)-1]
}

func (p *printer) pointer(v reflect.Value, depth int) {
	if depth == 0 && !v.IsNil() {
		switch e := v.Elem(); e.Kind() {
		case reflect.Array, reflect.Slice, reflect.Struct, reflect.Map:
			p.str("&")
			p.value(e, depth+1)
			return
		default:
		}
	}
	p.address(v)
}

func (p *printer) structure(v reflect.Value, depth int) {
	p.str("{")
	for i := 0; i < v.NumField() && !p.full; i++ {
		if i > 0 {
			p.str(" ")
		}
		if p.plus {
			p.str(v.Type().Field(i).Name + ":")
		}
		field := v.Field(i)
		if field.Kind() == reflect.Interface && !field.IsNil() {
			field = field.Elem()
		}
		p.value(field, depth+1)
	}
	p.str("}")
}

func (p *printer) list(v reflect.Value, depth int) {
	p.str("[")
	for i := 0; i < v.Len() && !p.full; i++ {
		if i > 0 {
			p.str(" ")
		}
		p.value(v.Index(i), depth+1)
	}
	p.str("]")
}

func (p *printer) mapping(v reflect.Value, depth int) {
	p.str("map[")
	for i, e := range sortedEntries(v, p.elements/2+1) { // each takes two
		if p.full {
			break
		}
		if i > 0 {
			p.str(" ")
		}
		p.value(e.key, depth+1)
		p.str(":")
		p.value(e.value, depth+1)
	}
	p.str("]")
}

func (p *printer) address(v reflect.Value) {
	if at := uintptr(v.UnsafePointer()); at != 0 {
		p.str("0x" + strconv.FormatUint(uint64(at), 16))
		return
	}
	p.str("<nil>")
}

func (p *printer) str(s string)   { write(p, s) }
func (p *printer) write(b []byte) { write(p, b) }

// write appends s as far as there is room.
func write[T string | []byte](p *printer, s T) {
	if p.full {
		return
	}
	if len(s) <= p.bytes {
		p.buf = append(p.buf, s...)
		p.bytes -= len(s)
		return
	}
	n := p.bytes
	for n > 0 && n > p.bytes-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	p.buf = append(p.buf, s[:n]...)
	p.bytes = 0
	p.end()
}

// end marks the text as incomplete. Nothing is printed after it.
func (p *printer) end() {
	p.buf = append(p.buf, ellipsis...)
	p.full = true
}

// A state is what a Formatter gets.
type state struct{ p *printer }

var _ fmt.State = (*state)(nil)

// Write implements [fmt.State]. It returns an error when there is no room left.
func (s *state) Write(b []byte) (int, error) {
	s.p.write(b)
	if s.p.full {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// WriteString implements [io.StringWriter], as fmt's State does.
func (s *state) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

func (s *state) Width() (int, bool)     { return 0, false }
func (s *state) Precision() (int, bool) { return 0, false }
func (s *state) Flag(c int) bool        { return c == '+' && s.p.plus }

// ErrorText returns the text of err as an attribute keeps it: at most 16 KiB, and the text of a
// panic if the method Error panics.
func ErrorText(err error) string {
	b := newBudget()
	return b.text(struct{ error }{err}) // which has no other method
}

// TypeName returns the type of v with its import path. A type without a name has none.
func TypeName(v any) string {
	t := reflect.TypeOf(v)
	if t.PkgPath() == "" && t.Name() == "" {
		return t.String()
	}
	return t.PkgPath() + "." + t.Name()
}

// ValueText returns what v's method String returns, or how it prints otherwise, as [ErrorText]
// does.
func ValueText(v any) string {
	b := newBudget()
	return b.text(v)
}

// SafeError wraps err in an error with the text that err has now, which calls no code of the
// program. nil stays nil.
func SafeError(err error) error {
	if err == nil {
		return nil
	}
	return &safeError{text: ErrorText(err), err: err}
}

type safeError struct {
	text string
	err  error
}

func (e *safeError) Error() string { return e.text }
func (e *safeError) Unwrap() error { return e.err }

// PanicText returns the text of what a function of the program panicked with.
func PanicText(r any) string {
	b := newBudget()
	return b.print(func(p *printer) {
		p.plus = false
		p.arg(r)
	})
}
