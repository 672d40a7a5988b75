package viewers

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
)

// maxText is how many bytes of a text from outside go into a file: names of events, functions and
// files, keys and values of details. The rest of a longer one is an ellipsis.
const maxText = 1000

// A jsonStream writes JSON as it is told, without a tree of it in memory. After an error of
// its writer, which Flush returns, it writes nothing more.
type jsonStream struct{ *bufio.Writer }

func newJSONStream(w io.Writer) jsonStream { return jsonStream{bufio.NewWriterSize(w, 1<<16)} }

// failed reports whether the writer has returned an error, after which there is no use in
// going on.
func (j jsonStream) failed() bool {
	_, err := j.Write(nil) // a bufio.Writer keeps its first error
	return err != nil
}

// raw writes what is JSON already.
func (j jsonStream) raw(s string) {
	_, _ = j.WriteString(s) // see failed
}

// An object is a small part of a file, which is in memory as a whole.
type object map[string]any

// open writes an object without its end, so that lists can follow as further members.
func (j jsonStream) open(o object) {
	b := marshal(o)
	_, _ = j.Write(b[:len(b)-1]) // see failed
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // there is no text, number or list of them that it refuses
	}
	return b
}

// A column has a value of each row of a table.
type column[T any] struct {
	name string
	cell func(b []byte, row T) []byte
}

// integers is a column of numbers. A negative number becomes null.
func integers[T any](name string, of func(T) int) column[T] {
	return column[T]{name, func(b []byte, row T) []byte {
		n := of(row)
		if n < 0 {
			return append(b, "null"...)
		}
		return strconv.AppendInt(b, int64(n), 10)
	}}
}

// times is a column of milliseconds.
func times[T any](name string, of func(T) time.Duration) column[T] {
	return column[T]{name, func(b []byte, row T) []byte { return appendMillis(b, of(row)) }}
}

// same is a column with the same JSON in each row.
func same[T any](name, json string) column[T] {
	return column[T]{name, func(b []byte, _ T) []byte { return append(b, json...) }}
}

// writeTable writes the columns of a table as members of an object, and the number of rows. It goes
// through the rows once for each column.
func writeTable[T any](j jsonStream, rows iter.Seq[T], columns []column[T]) {
	length := 0
	for _, c := range columns {
		j.raw("\n\"")
		j.raw(c.name)
		j.raw(`":`)
		length = writeList(j, rows, c.cell)
		j.raw(",")
	}
	j.raw(`"length":` + strconv.Itoa(length))
}

// writeList writes an array of one cell for each row, and returns how many there are. It stops
// when the writer fails.
func writeList[T any](j jsonStream, rows iter.Seq[T], cell func([]byte, T) []byte) (n int) {
	j.raw("[")
	for row := range rows {
		if j.failed() {
			break
		}
		b := j.AvailableBuffer()
		if n > 0 {
			b = append(b, ',')
		}
		_, _ = j.Write(cell(b, row)) // see failed
		n++
	}
	j.raw("]")
	return n
}

// appendText appends a text as a JSON string, at most maxText bytes of it. Invalid UTF-8 becomes
// U+FFFD.
func appendText(b []byte, s string) []byte {
	s = cut(s)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, marshal(s)...)
		}
	}
	// nearly all, and marshal takes an allocation for each
	return append(append(append(b, '"'), s...), '"')
}

// cut shortens a text to maxText bytes, between two characters.
func cut(s string) string { return text.Cut(s, maxText) }

func appendMillis(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, observer.Milliseconds(d), 'f', -1, 64)
}

// A table gives each different element an index, in the order in which they come.
type table[T comparable] struct {
	index map[T]int
	list  []T
}

func (t *table[T]) add(element T) int {
	i, known := t.index[element]
	if !known {
		if t.index == nil {
			t.index = map[T]int{}
		}
		i = len(t.list)
		t.index[element] = i
		t.list = append(t.list, element)
	}
	return i
}

// addText is add for texts, which may be shared and long: the table keeps what will be written.
func addText(t *table[string], s string) int { return t.add(cut(s)) }
