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

// maxText is how many bytes of a text from outside go into a file: names of events, functions and files, keys
// and values of details. The rest of a longer one is an ellipsis.
const maxText = 1000

// A jsonStream writes JSON as it is told, without a tree of it in memory. After an error of
// its writer, which flush returns, it writes nothing more.
type jsonStream struct{ b *bufio.Writer }

func newJSONStream(w io.Writer) jsonStream { return jsonStream{bufio.NewWriterSize(w, 1<<16)} }

func (j jsonStream) flush() error { return j.b.Flush() }

// failed reports whether the writer has returned an error, after which there is no use in
// going on.
func (j jsonStream) failed() bool {
	_, err := j.b.Write(nil) // a bufio.Writer keeps its first error
	return err != nil
}

// raw writes what is JSON already.
func (j jsonStream) raw(s string) {
	_, _ = j.b.WriteString(s) // see failed
}

func (j jsonStream) bytes(b []byte) {
	_, _ = j.b.Write(b) // see failed
}

func (j jsonStream) text(s string)          { j.bytes(appendText(j.b.AvailableBuffer(), s)) }
func (j jsonStream) number(n int)           { j.bytes(strconv.AppendInt(j.b.AvailableBuffer(), int64(n), 10)) }
func (j jsonStream) millis(d time.Duration) { j.bytes(appendMillis(j.b.AvailableBuffer(), d)) }

// writeList writes an array of one cell for each row, and returns how many there are. It stops
// when the writer fails.
func writeList[T any](j jsonStream, rows iter.Seq[T], cell func([]byte, T) []byte) (n int) {
	j.raw("[")
	for row := range rows {
		if j.failed() {
			break
		}
		b := j.b.AvailableBuffer()
		if n > 0 {
			b = append(b, ',')
		}
		j.bytes(cell(b, row))
		n++
	}
	j.raw("]")
	return n
}

// appendText appends a text as a JSON string, at most maxText bytes of it. Invalid UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	s = cut(s)
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if plain { // nearly all are, and the encoder takes an allocation for each
		return append(append(append(b, '"'), s...), '"')
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // there is no string that it refuses
	}
	return append(b, text...)
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
