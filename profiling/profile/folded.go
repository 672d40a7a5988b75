package profile

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strconv"
)

// noStack is the function that conversions put in place of a missing stack, so
// that their totals are the trace's.
const noStack = "[no-stack]"

// WriteFolded writes the trace in Brendan Gregg's folded format, which flame
// graphs are made of. A line has the functions of a stack from the outermost to
// the innermost, separated by semicolons, then a space and the number of samples that had
// exactly that stack. The number adds up [Sample] Count, so that goroutines sampled at once count one
// by one. Stacks of the same names are one line; lines are sorted name by name.
// Samples without a stack have the function "[no-stack]".
//
// Semicolons, spaces and control characters of a name are written as % and two
// upper-case hexadecimal digits, and so is a % that would read like that; the
// linker's %2e stays. Memory depends on the stacks, not on the samples. A trace
// whose ids or order are wrong is an error, and nothing is written then.
func (t *Trace) WriteFolded(w io.Writer) error {
	if err := t.check(); err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<16)
	if err := t.fold().write(b); err != nil {
		return err
	}
	return b.Flush()
}

// A fold is a stack by its functions' names alone.
type fold struct {
	name     string
	count    int64
	children []*fold
}

// fold counts samples by stack and joins stacks of equal names. The fold it gives
// has no name of its own.
func (t *Trace) fold() *fold {
	type call struct {
		caller *fold
		name   string
	}
	root, known := &fold{}, map[call]*fold{}
	of := func(caller *fold, name string) *fold {
		f := known[call{caller, name}]
		if f == nil {
			f = &fold{name: name}
			known[call{caller, name}] = f
			caller.children = append(caller.children, f)
		}
		return f
	}
	byStack := make([]*fold, len(t.Stacks))
	for i, s := range t.Stacks {
		caller := root
		if s.ParentID != None {
			caller = byStack[s.ParentID]
		}
		byStack[i] = of(caller, t.Frames[s.FrameID].Name)
	}
	for i := range t.Samples {
		s := &t.Samples[i]
		if s.StackID == None {
			of(root, noStack).count += int64(s.Count)
		} else {
			byStack[s.StackID].count += int64(s.Count)
		}
	}
	return root
}

// write writes the lines of what is below f. A stack made by hand may be deeper
// than recursion can go.
func (f *fold) write(b *bufio.Writer) error {
	type step struct {
		fold   *fold
		prefix int // how much of line is its callers'
	}
	var todo []step
	line := []byte{}
	push := func(f *fold) {
		slices.SortFunc(f.children, func(a, b *fold) int { return cmp.Compare(a.name, b.name) })
		for _, child := range slices.Backward(f.children) {
			todo = append(todo, step{child, len(line)})
		}
	}
	for push(f); len(todo) > 0; {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		line = appendFolded(line[:next.prefix], next.fold.name)
		if next.fold.count != 0 {
			end := len(line)
			line = append(strconv.AppendInt(append(line, ' '), next.fold.count, 10), '\n')
			if _, err := b.Write(line); err != nil {
				return err
			}
			line = line[:end]
		}
		line = append(line, ';')
		push(next.fold)
	}
	return nil
}

func appendFolded(b []byte, name string) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c == ';' || c == 0x7f || c == '%' && i+2 < len(name) && isHex(name[i+1]) && isHex(name[i+2]) {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' }
