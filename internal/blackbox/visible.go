package blackbox

import (
	"fmt"
	"strings"

	"github.com/perfline/perfline/internal/stray"
)

// Visible returns a copy of the report for clients outside the program: without the frames of
// functions that shows hides. The report shares the rest with the copy.
func (r *Report) Visible(shows func(function string) bool) *Report {
	v := *r
	v.Words = visibleWords(r.Words, shows)
	if c := r.Crash; c != nil && c.Function != "" && !shows(c.Function) {
		visible := *c
		visible.Function, visible.File, visible.Line = "", "", 0
		v.Crash = &visible
	}
	return &v
}

// visibleWords returns the Go runtime's text without the frames of hidden functions. A line of a
// stack that is no whole frame counts as one of the function "": the text may end within a name.
func visibleWords(words string, shows func(function string) bool) string {
	var b strings.Builder
	lines := strings.Split(words, "\n")
	inStack, hidden := false, 0
	for at := 0; at < len(lines); at++ {
		line := lines[at]
		f, isFrame := frameIn(line, lines[at+1:])
		_, _, isHead := goroutineOf(line)
		isHead = isHead || line == "runtime stack:"
		neutral := isHead || line == "" || strings.HasPrefix(line, "...") || isRegister(line)
		if inStack && !neutral && !shows(f.function) {
			if !strings.HasPrefix(line, "\t") { // the place of the frame before
				hidden++
			}
			continue
		}
		if hidden > 0 {
			fmt.Fprintf(&b, "... %s: %d\n", stray.Hidden, hidden)
			hidden = 0
		}
		inStack = inStack || isHead
		b.WriteString(line + "\n")
		if inStack && isFrame {
			at++
			b.WriteString(lines[at] + "\n")
		}
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "... %s: %d\n", stray.Hidden, hidden)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// isRegister reports whether a line has the name of a processor's register, and its value.
func isRegister(line string) bool {
	words := strings.Fields(line)
	return len(words) == 2 && strings.HasPrefix(words[1], "0x") &&
		!strings.ContainsAny(words[0], "./")
}

// frameIn returns the function in a line of a stack: see frameOf. The last line of a stack has the
// function that created the goroutine. The runtime writes "panic" for runtime.gopanic.
func frameIn(line string, next []string) (f frame, ok bool) {
	if by, created := strings.CutPrefix(line, "created by "); created {
		by, _, _ = strings.Cut(by, " in goroutine ")
		line = by + "()"
	}
	f, ok = frameOf(line, next)
	if f.function == "panic" {
		f.function = "runtime.gopanic"
	}
	return f, ok
}
