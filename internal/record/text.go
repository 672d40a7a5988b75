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

// text returns the output of slog.TextHandler for v, without quotes, within the budget.
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
	// Most values are errors and Stringers: their texts are not copied.
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

// print returns the text that f prints.
func (b *budget) print(f func(*printer)) string {
	p := &printer{budget: *b, plus: true}
	if r, ok := Protect(func() { f(p) }); !ok {
		// The method of a panic value panicked.
		*p = printer{budget: *b}
		p.str("!PANIC: ")
		Protect(func() { p.arg(r) }) // a third panic prints nothing
	}
	b.elements, b.bytes = p.elements, p.bytes
	return string(p.buf)
}

// Protect calls f. If f panics, Protect returns the panic value and false. Print the value only
// after Protect has returned. A method of the value may call runtime.Goexit. Such a call must not
// run in a deferred function.
func Protect(f func()) (r any, ok bool) {
	defer func() {
		if !ok {
			r = recover()
		}
	}()
	f()
	return nil, true
}

// A printer prints values as fmt does with %+v, or with %v unless plus is set. Unlike fmt, a
// printer has bounds, and stops at a value that contains itself. The text of a method is cut.
type printer struct {
	budget
	buf       []byte
	path      []visit // the slices and maps around the current value
	plus      bool    // print the names of fields
	panicking bool    // the current value is a panic value
	full      bool    // a bound was exceeded: the text ends in the ellipsis
}

// A visit identifies a value on the current path, to detect cycles.
type visit struct {
	t   reflect.Type
	at  unsafe.Pointer
	len int
}

// attribute prints v as slog.TextHandler does.
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

// arg prints a value that is not nested.
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

// methods prints v with its own methods. methods returns false if v has no method that fmt calls.
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

// value prints a value inside depth other values.
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
		p.value(v.Elem(), max(depth, 1)) // an interface adds no level
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

// container prints a slice or a map, or "<cycle>" inside itself. Other values cannot contain
// themselves, because inner pointers are printed as addresses.
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
	p.sequence("{", v.NumField(), "}", func(i int) {
		if p.plus {
			p.str(v.Type().Field(i).Name + ":")
		}
		field := v.Field(i)
		if field.Kind() == reflect.Interface && !field.IsNil() {
			field = field.Elem()
		}
		p.value(field, depth+1)
	})
}

func (p *printer) list(v reflect.Value, depth int) {
	p.sequence("[", v.Len(), "]", func(i int) { p.value(v.Index(i), depth+1) })
}

func (p *printer) mapping(v reflect.Value, depth int) {
	entries := sortedEntries(v, p.elements/2+1) // an entry takes two elements
	p.sequence("map[", len(entries), "]", func(i int) {
		p.value(entries[i].key, depth+1)
		p.str(":")
		p.value(entries[i].value, depth+1)
	})
}

// sequence prints n items between begin and end.
func (p *printer) sequence(begin string, n int, end string, item func(i int)) {
	p.str(begin)
	for i := 0; i < n && !p.full; i++ {
		if i > 0 {
			p.str(" ")
		}
		item(i)
	}
	p.str(end)
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

// write appends s, or the part of s that has room.
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

// end appends the ellipsis and stops the printer.
func (p *printer) end() {
	p.buf = append(p.buf, ellipsis...)
	p.full = true
}

// A state is the fmt.State of a Formatter.
type state struct{ p *printer }

var _ fmt.State = (*state)(nil)

// Write appends b to the printed text. Write returns an error when the printer is full.
func (s *state) Write(b []byte) (int, error) {
	s.p.write(b)
	if s.p.full {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// WriteString appends text in the same way as Write. The State of package fmt also implements
// [io.StringWriter].
func (s *state) WriteString(text string) (int, error) { return s.Write([]byte(text)) }

func (s *state) Width() (int, bool)     { return 0, false }
func (s *state) Precision() (int, bool) { return 0, false }
func (s *state) Flag(c int) bool        { return c == '+' && s.p.plus }

// ErrorText returns the text of err for an attribute, cut to 16 KiB. If the method Error panics,
// ErrorText returns the text of the panic.
func ErrorText(err error) string { return ValueText(struct{ error }{err}) } // without other methods

// TypeName returns the name of v's type, with the import path of the package. The result for an
// unnamed type contains no import path.
func TypeName(v any) string {
	t := reflect.TypeOf(v)
	if t.PkgPath() == "" && t.Name() == "" {
		return t.String()
	}
	return t.PkgPath() + "." + t.Name()
}

// ValueText returns the text of v for an attribute, as slog.TextHandler prints v. [ErrorText]
// describes the limits.
func ValueText(v any) string {
	b := newBudget()
	return b.text(v)
}

// SafeError returns an error that wraps err and stores the current text of err. The method Error of
// the result returns the stored text, and calls no code of the program. If err is nil, SafeError
// returns nil.
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

// PanicText returns the text of a panic value.
func PanicText(r any) string {
	b := newBudget()
	return b.print(func(p *printer) {
		p.plus = false
		p.arg(r)
	})
}
