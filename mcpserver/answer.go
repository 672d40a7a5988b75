package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	maxFirst  = 512               // bytes of the first line, which names the instance
	maxAnswer = 16<<10 - maxFirst // bytes after the first line
	maxEnd    = 2 << 10           // bytes at the end of an answer for suggestions instead of rows
)

// A word is text of perfline's own in an answer.
type word string

// A value is data that may be longer than a name.
type value string

// An answer is the text that a tool returns. Formats and words are perfline's own text. Strings are
// data from outside, and are quoted.
type answer struct {
	text strings.Builder
	next []string // suggestions
}

// line adds a line. A string among args is data.
func (a *answer) line(format string, args ...any) {
	a.text.WriteString(quotef(format, args...))
	a.text.WriteByte('\n')
}

// row adds a row of one or more lines. If the answer has no room for the row, row returns false.
func (a *answer) row(lines string) bool {
	if a.text.Len()+len(lines)+1 > maxAnswer-maxEnd {
		return false
	}
	a.text.WriteString(lines + "\n")
	return true
}

// suggest adds a useful next call and the reason. Arguments must be ids, numbers and words, never
// text from outside.
func (a *answer) suggest(tool word, arguments any, reason word) {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // unreachable: the types of the arguments are perfline's own
	}
	a.next = append(a.next, fmt.Sprintf("next: %s %s (%s)", tool, text, reason))
}

// String returns the text, followed by the suggestions. If the answer is longer than maxAnswer,
// String cuts the text.
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

// quotef formats like fmt.Sprintf, with each string among args quoted.
func quotef(format string, args ...any) string {
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

// number returns a number and a noun, in the plural unless the number is 1.
func number(n int, noun word) word {
	if n == 1 {
		return "1 " + noun
	}
	return word(fmt.Sprintf("%d %ss", n, noun))
}

// A refusal is the error of a call, with suggestions.
type refusal struct{ answer }

// refuse returns an error. A string among args is data.
func refuse(format string, args ...any) *refusal {
	r := new(refusal)
	r.line("error: "+format, args...)
	return r
}

// or suggests a call that may help.
func (r *refusal) or(tool word, arguments any, reason word) *refusal {
	r.suggest(tool, arguments, reason)
	return r
}

func (r *refusal) Error() string { return r.String() }
