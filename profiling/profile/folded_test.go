package profile

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestWriteFolded(t *testing.T) {
	p, b := newProgram(), NewBuilder(nil)
	add := func(count int, stack ...*Call) {
		b.Add(stack, Sample{ContextID: None, Count: count})
	}
	add(1, p.line("f", 12), p.line("main", 20))
	add(2, p.line("f", 13), p.line("main", 20)) // another line
	add(4, p.call(Call{Name: "f", File: "other.go"}), p.line("main", 20))
	add(8, p.line("main", 20))
	add(16, p.line("a;b c\nd", 1), p.line("main", 20))
	add(32, p.line("gopkg.in/yaml%2ev3.f", 1))
	add(64, p.line("100%3B", 1))
	add(128)
	add(256, p.line("ma", 1))
	var got bytes.Buffer
	if err := b.Trace(nil).WriteFolded(&got); err != nil {
		t.Fatal(err)
	}
	want := `100%253B 64
[no-stack] 128
gopkg.in/yaml%2ev3.f 32
ma 256
main 8
main;a%3Bb%20c%0Ad 16
main;f 7
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
}

// A stack that was made by hand may be of any depth.
func TestWriteFoldedDeep(t *testing.T) {
	const depth = 1 << 20
	tr := &Trace{Frames: []Frame{{Name: "f", ResourceID: None}}, Samples: []Sample{{StackID: depth - 1, ContextID: None, Count: 1}}}
	for i := range depth {
		tr.Stacks = append(tr.Stacks, Stack{0, i - 1})
	}
	var got bytes.Buffer
	if err := tr.WriteFolded(&got); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("f;", depth-1) + "f 1\n"; got.String() != want {
		t.Errorf("got %d bytes, want %d", got.Len(), len(want))
	}
}

// parseFolded reads the format back: counts by stack, quoted.
func parseFolded(t *testing.T, text string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for line := range strings.Lines(text) {
		stack, count, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		n, err := strconv.Atoi(count)
		if err != nil || !ok {
			t.Fatalf("line %q: no count", line)
		}
		var names []string
		for name := range strings.SplitSeq(stack, ";") {
			names = append(names, unfold(t, name))
		}
		key := fmt.Sprintf("%q", names)
		if counts[key] != 0 {
			t.Errorf("stack %s has two lines", key)
		}
		counts[key] = n
	}
	return counts
}

func unfold(t *testing.T, name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) && strings.ToUpper(name[i+1:i+3]) == name[i+1:i+3] {
			if c, err := url.PathUnescape(name[i : i+3]); err == nil {
				b.WriteString(c)
				i += 2
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// Names survive, whatever is in them.
func FuzzFolded(f *testing.F) {
	f.Add("main;f|main|main;f", 3)
	f.Add("a %3B;%2e%|%25;\n\r\t\x7f|;;|%%41", 1)
	f.Fuzz(func(t *testing.T, text string, count int) {
		p, b, want := newProgram(), NewBuilder(nil), map[string]int{}
		count = 1 + count&0xffff
		for stack := range strings.SplitSeq(text, "|") {
			outermostFirst := strings.Split(strings.ToValidUTF8(stack, "\uFFFD"), ";")
			outermostFirst = outermostFirst[max(0, len(outermostFirst)-maxDepth):] // which a builder keeps
			for i, name := range outermostFirst {
				outermostFirst[i] = strings.ReplaceAll(name, ",", ";") // so that some have one
			}
			want[fmt.Sprintf("%q", outermostFirst)] += count
			slices.Reverse(outermostFirst)
			b.Add(p.stack(outermostFirst...), Sample{ContextID: None, Count: count})
		}
		var got bytes.Buffer
		if err := b.Trace(nil).WriteFolded(&got); err != nil {
			t.Fatal(err)
		}
		if counts := parseFolded(t, got.String()); !maps.Equal(counts, want) {
			t.Errorf("%q: got %v, want %v", &got, counts, want)
		}
	})
}
