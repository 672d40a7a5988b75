package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The size of an answer in bytes. Rows of a list end before its last part, which is for the
// suggestions.
const (
	maxAnswer = 16 << 10
	maxEnd    = 2 << 10
)

// A word is text of our own in an answer.
type word string

// An answer is the text that a tool returns. Each string in it is data from outside, and is quoted.
// Only formats and words are our own.
type answer struct {
	text strings.Builder
	next []string
}

// line adds a line. A string among args is data.
func (a *answer) line(format string, args ...any) {
	a.text.WriteString(formatted(format, args...))
	a.text.WriteByte('\n')
}

// row adds the lines of a row. It returns false, and adds nothing, if the answer has no room for
// them.
func (a *answer) row(lines ...string) bool {
	size := 0
	for _, l := range lines {
		size += len(l) + 1
	}
	if a.text.Len()+size > maxAnswer-maxEnd {
		return false
	}
	for _, l := range lines {
		a.text.WriteString(l)
		a.text.WriteByte('\n')
	}
	return true
}

// suggest adds a call that the client may make next, and the reason. Arguments are ids, numbers and
// words of our own, never text from outside.
func (a *answer) suggest(tool word, arguments any, reason word) {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // of our own types
	}
	a.next = append(a.next, fmt.Sprintf("next: %s %s (%s)", tool, text, reason))
}

// String returns the text, with the suggestions at its end.
func (a *answer) String() string {
	end := strings.Join(a.next, "\n")
	text := a.text.String()
	if len(text)+len(end) > maxAnswer {
		const cut = "the answer is too long: the rest is missing\n"
		text = text[:max(0, maxAnswer-len(end)-len(cut))]
		text = text[:strings.LastIndexByte(text, '\n')+1] + cut
	}
	return text + end
}

// formatted returns a text with each string among args quoted.
func formatted(format string, args ...any) string {
	safe := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			safe[i] = quote(arg, maxName)
		case value:
			safe[i] = quote(string(arg), maxValue)
		case error:
			safe[i] = quote(arg.Error(), maxValue)
		default:
			safe[i] = arg
		}
	}
	return fmt.Sprintf(format, safe...)
}

// A value is data that may be longer than a name.
type value string

// number returns a number and a noun, in the plural unless the number is 1.
func number(n int, noun word) word {
	if n == 1 {
		return "1 " + noun
	}
	return word(fmt.Sprintf("%d %ss", n, noun))
}

// A refusal is the error of a call, with the way to proceed.
type refusal struct {
	answer
}

// refuse returns an error. A string among args is data.
func refuse(format string, args ...any) *refusal {
	r := new(refusal)
	r.line("error: "+format, args...)
	return r
}

// or adds a call that may help.
func (r *refusal) or(tool word, arguments any, reason word) *refusal {
	r.suggest(tool, arguments, reason)
	return r
}

func (r *refusal) Error() string { return r.String() }
