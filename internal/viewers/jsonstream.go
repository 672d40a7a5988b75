package viewers

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
)

// maxText bounds a text from outside, in bytes: names of events, functions and files, keys and
// values of details. An ellipsis replaces the rest of a longer text.
const maxText = 1000

// A jsonStream writes JSON without a tree in memory. After an error of the writer, it writes
// nothing more, and Flush returns the error.
type jsonStream struct{ *bufio.Writer }

func newJSONStream(w io.Writer) jsonStream { return jsonStream{bufio.NewWriterSize(w, 1<<16)} }

// failed reports whether the writer returned an error, so that callers can stop early.
func (j jsonStream) failed() bool {
	_, err := j.Write(nil) // a bufio.Writer keeps its first error
	return err != nil
}

// raw writes JSON text.
func (j jsonStream) raw(s string) {
	_, _ = j.WriteString(s) // see failed
}

func (j jsonStream) write(b []byte) { _, _ = j.Write(b) } // see failed

// An object is a small part of a file.
type object map[string]any

// open writes an object without its end, so that lists can follow as further members.
func (j jsonStream) open(o object) {
	b := marshal(o)
	j.write(b[:len(b)-1])
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // Marshal accepts all texts, numbers and lists
	}
	return b
}

// A column encodes one value of each row of a table.
type column[T any] struct {
	name string
	cell func(b []byte, row T) []byte
}

// integers returns a column of numbers. A negative number becomes null.
func integers[T any](name string, of func(T) int) column[T] {
	return column[T]{name, func(b []byte, row T) []byte {
		n := of(row)
		if n < 0 {
			return append(b, "null"...)
		}
		return strconv.AppendInt(b, int64(n), 10)
	}}
}

// times returns a column of milliseconds.
func times[T any](name string, of func(T) time.Duration) column[T] {
	return column[T]{name, func(b []byte, row T) []byte { return appendMillis(b, of(row)) }}
}

// constant returns a column with the same JSON in each row.
func constant[T any](name, json string) column[T] {
	return column[T]{name, func(b []byte, _ T) []byte { return append(b, json...) }}
}

// writeTable writes the columns of a table as members of an object, and the number of rows. It
// reads the rows once for each column.
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

// writeList writes an array with a cell for each row, and returns the number of cells. It stops
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
		j.write(cell(b, row))
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
	// Most texts. marshal would allocate.
	return append(append(append(b, '"'), s...), '"')
}

// cut shortens a text to maxText bytes, between two characters.
func cut(s string) string { return text.Cut(s, maxText) }

func appendMillis(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, record.Milliseconds(d), 'f', -1, 64)
}

// A table numbers different elements in the order of add.
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

// addText adds a text as the file shows it, so that the table holds no long text.
func addText(t *table[string], s string) int { return t.add(cut(s)) }
