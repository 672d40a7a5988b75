package timeline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/record"
)

// byTextHandler is what slog.TextHandler prints for v, without quotes.
func byTextHandler(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	h := slog.NewTextHandler(&b, nil)
	r := slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)
	r.AddAttrs(slog.Any("k", v))
	if err := h.Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(strings.TrimSuffix(b.String(), "\n"), "k=")
	if unquoted, err := strconv.Unquote(text); err == nil {
		return unquoted
	}
	return text
}

// text is what v becomes, however slow the machine is: no time passes in a bubble.
func text(t *testing.T, v any) (got string) {
	t.Helper()
	still(t, func() { got = record.Freeze([]slog.Attr{slog.Any("k", v)})[0].Value.String() })
	return got
}

type (
	stringer  struct{ S string }
	formatter struct{ S string }
	marshaler struct{ S string }
	failing   struct{}
	pointed   struct{ next *pointed }
	namedKey  string
	float     float64
	bytesOf   []byte
	hexByte   byte
	named     struct{ time.Duration }
)

func (s stringer) String() string { return "<" + s.S + ">" }

func (f formatter) Format(s fmt.State, verb rune) {
	width, hasWidth := s.Width()
	precision, hasPrecision := s.Precision()
	fmt.Fprintf(s, "%c%t%t%d%t%d%t ", verb, s.Flag('+'), s.Flag('#'), width, hasWidth, precision, hasPrecision)
	if _, err := s.(io.StringWriter).WriteString(f.S); err != nil { // fmt's State has it
		panic(err)
	}
}

func (m marshaler) MarshalText() ([]byte, error) { return []byte("text of " + m.S), nil }
func (failing) MarshalText() ([]byte, error)     { return nil, errors.New("no text") }
func (b hexByte) String() string                 { return fmt.Sprintf("%#x", byte(b)) }
func (n namedKey) String() string                { return "key " + string(n) }

func TestTextIsThatOfTextHandler(t *testing.T) {
	number, list, structure := 7, []int{1}, stringer{"x"}
	var nilError *pointerError
	for name, v := range map[string]any{
		"nil": nil, "int8": int8(-3), "uintptr": uintptr(9), "float32": float32(0.1), "complex64": complex64(complex(1, -2)), "complex128": complex(math.NaN(), 1),
		"float": float(1e21), "-0": float(math.Copysign(0, -1)), "Inf": float(math.Inf(1)), "small": float(1e-7), "rune": 'x',
		"error": errors.New("bad"), "wrapped": fmt.Errorf("more: %w", errors.New("bad")), "joined": errors.Join(io.EOF, io.ErrClosedPipe),
		"nil error of a pointer type": nilError, "Stringer": stringer{"s"}, "pointer to a Stringer": &structure, "nil Stringer": (*stringer)(nil),
		"Formatter": formatter{"f"}, "Formatters": []formatter{{"f"}}, "TextMarshaler": marshaler{"m"}, "TextMarshalers": []any{marshaler{"m"}},
		"nil TextMarshaler": (*marshaler)(nil), "TextMarshaler that fails": failing{},
		"IP": net.IPv4(1, 2, 3, 4), "Addr": netip.MustParseAddr("::1"), "URL": &url.URL{Host: "h", Path: "/p"}, "Level": slog.LevelError + 1,
		"RawMessage": json.RawMessage(`{"a":1}`), "bytes with names": []hexByte{1, 'a'}, "bytesOf": bytesOf("x\xffy"),
		"bytes in a list": []any{[]byte("ab"), bytesOf("c")}, "array of bytes": [2]byte{1, 2},
		"slice": []int{1, 2}, "nil slice": []int(nil), "array": [2]string{"a", "b"}, "slices": [][]int{{1}, nil},
		"map": map[string]any{"b": nil, "a": []string{"x"}}, "nil map": map[int]int(nil), "map of Stringers": map[namedKey]stringer{"b": {"1"}, "a": {"2"}},
		"map by floats": map[float64]int{math.Inf(-1): 1, 2: 2, math.NaN(): 3}, "map by bools": map[bool]int{true: 1, false: 0},
		"map by structs": map[struct{ A, b int }]int{{2, 1}: 1, {1, 2}: 2, {1, 1}: 3}, "map by arrays": map[[2]int]string{{1, 2}: "b", {1, 1}: "a"},
		"map by interfaces": map[any]int{2: 2, 1: 1, nil: 0}, "map by complex": map[complex128]int{complex(1, 2): 1, complex(1, 1): 2},
		"map by uint8": map[uint8]bool{3: true, 1: false}, "map by pointers": map[*int]int{nil: 0, &number: 1}, "map by channels": map[chan int]int{nil: 0},
		"struct": struct {
			A int
			b string
			C any
			stringer
			D *int
			E error
			f error
			G time.Duration
			h time.Duration
		}{A: 1, b: "x", C: stringer{"c"}, stringer: stringer{"e"}, E: io.EOF, f: io.EOF, G: time.Second, h: time.Second},
		"struct of structs": struct{ A struct{ B []struct{ C int } } }{struct{ B []struct{ C int } }{[]struct{ C int }{{1}}}},
		"empty struct":      struct{}{}, "pointer to a struct": &struct{ A int }{1}, "pointer to a slice": &list, "pointer to an array": &[1]int{1},
		"pointer to a map": &map[string]int{"a": 1}, "pointer to a pointer": &nilError, "pointer to an int": &number,
		"pointers in a list": []*int{&number, nil}, "pointer to pointers": &pointed{&pointed{}}, "embedded": named{time.Second},
		"func": strings.ToUpper, "nil func": (func())(nil), "channel": make(chan int), "nil channel": (chan int)(nil),
		"unsafe": unsafe.Pointer(&number), "nil unsafe": unsafe.Pointer(nil), "interfaces": []any{nil, 1, "a", stringer{"x"}, []any{io.EOF}},
		"reflect.Value": reflect.ValueOf(stringer{"v"}), "reflect.Value of nothing": reflect.Value{}, "reflect.Values": []reflect.Value{reflect.ValueOf(1), reflect.ValueOf("x")},
		"reflect.Value of an unexported field": reflect.ValueOf(struct{ s stringer }{stringer{"x"}}).Field(0),
		"reflect.Type":                         reflect.TypeFor[int](), "time": struct{ T time.Time }{time.Unix(1, 0).UTC()},
		"duration in a list": []time.Duration{time.Second}, "text with quotes": struct{ S string }{"a \"b\"\n=\xff"}, "group": lazyValue{slog.AnyValue([]int{1})},
		"month": time.May, "json.Number": json.Number("1e9"), "weird": [][]any{{map[string][]error{"a": {io.EOF, nil}}}},
	} {
		if got, want := text(t, v), byTextHandler(t, v); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// A TextAppender comes first, as with Go 1.27's TextHandler.
type appender struct{ marshaler }

func (a appender) AppendText(b []byte) ([]byte, error) { return append(b, "appended "+a.S...), nil }

func TestTextAppenderComesFirst(t *testing.T) {
	if got := text(t, appender{marshaler{"a"}}); got != "appended a" {
		t.Errorf("got %q", got)
	}
}

// A source makes values of arbitrary types out of bytes.
type source []byte

func (s *source) next() byte {
	if len(*s) == 0 {
		return 0
	}
	b := (*s)[0]
	*s = (*s)[1:]
	return b
}

var leaves = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[uint](), reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[complex64](),
	reflect.TypeFor[string](), reflect.TypeFor[stringer](), reflect.TypeFor[formatter](), reflect.TypeFor[marshaler](), reflect.TypeFor[namedKey](),
	reflect.TypeFor[time.Duration](), reflect.TypeFor[hexByte](), reflect.TypeFor[uint8](), reflect.TypeFor[any](), reflect.TypeFor[error](), reflect.TypeFor[*int](),
	reflect.TypeFor[net.IP](), reflect.TypeFor[unspeakable](), reflect.TypeFor[*unspeakable](), reflect.TypeFor[struct {
		a any
		E error
		s stringer
	}](),
}

func (s *source) typ(depth int) reflect.Type {
	if depth < 4 {
		switch s.next() % 10 {
		case 0:
			return reflect.SliceOf(s.typ(depth + 1))
		case 1:
			return reflect.ArrayOf(1+int(s.next()%2), s.typ(depth+1))
		case 2:
			if key := s.typ(depth + 1); key.Comparable() {
				return reflect.MapOf(key, s.typ(depth+1))
			}
		case 3:
			return reflect.PointerTo(s.typ(depth + 1))
		case 4:
			var fields []reflect.StructField
			for i := range s.next() % 3 {
				f := reflect.StructField{Name: string(rune('A' + i)), Type: s.typ(depth + 1)}
				if s.next()%2 == 0 {
					f.Name, f.PkgPath = string(rune('a'+i)), "observer_test"
				}
				fields = append(fields, f)
			}
			return reflect.StructOf(fields)
		}
	}
	return leaves[int(s.next())%len(leaves)]
}

func (s *source) fill(v reflect.Value, depth int) {
	n := s.next()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(n%2 == 0)
	case reflect.Int, reflect.Int8, reflect.Int64:
		v.SetInt(int64(int8(n)))
	case reflect.Uint, reflect.Uint8:
		v.SetUint(uint64(n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(math.Float64frombits(uint64(n)<<56 | uint64(s.next())<<48 | uint64(s.next())))
	case reflect.Complex64:
		v.SetComplex(complex(float64(n), -1))
	case reflect.String:
		v.SetString(strings.Repeat(string([]byte{n}), int(n%4)))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), int(n%4), 4))
		for i := range v.Len() {
			s.fill(v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			s.fill(v.Index(i), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			s.fill(reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem(), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range n % 4 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			s.fill(key, depth+1)
			s.fill(value, depth+1)
			if key.Comparable() {
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Pointer:
		if n%3 > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			s.fill(v.Elem(), depth+1)
		}
	case reflect.Interface:
		if depth < 8 && n%4 > 0 {
			e := reflect.New(s.typ(depth)).Elem()
			s.fill(e, depth+1)
			if e.Type().Implements(v.Type()) {
				v.Set(e)
			}
		}
	default: // is of no leaf
	}
}

// Within the bounds TextHandler prints the same text, for all types.
func FuzzText(f *testing.F) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := make([]byte, 10+r.IntN(90))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := source(data)
		v := reflect.New(s.typ(0)).Elem()
		s.fill(v, 0)
		x := v.Interface()
		want := byTextHandler(t, x)
		switch x.(type) {
		case bool, uint8, uint, int8, float32, float64, string, time.Duration, []string, []byte, []float64, []bool:
			return // kept, or turned into another scalar
		}
		if strings.Contains(want, "!PANIC: ") { // as it comes in a panic's own text; see TestNestedPanics
			return
		}
		if got := text(t, x); got != want {
			t.Errorf("%T:\ngot  %q\nwant %q", x, got, want)
		}
	})
}

// unspeakable is an error that cannot say what it is.
type unspeakable struct{ N int }

func (u unspeakable) Error() string { panic(u.N) }
