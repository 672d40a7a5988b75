package main

import (
	"regexp"
	"strings"
	"unicode"
)

// A passage is a text that people read as one: a paragraph, an item of a list, a
// table's cell, an error's literal, an identifier.
type passage struct {
	kind kind
	line int    // where it begins
	text string // a line break stands for each one of the file
}

type kind int

const (
	prose   kind = iota
	heading      // of a document or of a godoc page
	message      // of an error or a log line
	identifier
)

var (
	fence      = regexp.MustCompile("^(?:```|~~~)")
	item       = regexp.MustCompile(`^(?:[-*+•]|\d+[.)])\s+`)
	title      = regexp.MustCompile(`^#{1,6} +`)
	htmlMarker = regexp.MustCompile(`<!--.*?-->`)
)

// paragraphs returns the passages of lines, the first of which has the given number
// in its file. Code is left out: what is fenced, and what is indented by codeIndent
// columns or more and is not part of a list.
func paragraphs(lines []string, number, codeIndent int) []passage {
	var all []passage
	var open []string
	flush := func(next int) {
		if len(open) > 0 {
			all = append(all, passage{prose, next - len(open), plain(strings.Join(open, "\n"))})
		}
		open = nil
	}
	fenced, list := false, false
	for i, l := range lines {
		at := number + i
		text := strings.TrimSpace(strings.TrimLeft(htmlMarker.ReplaceAllString(l, ""), "> \t"))
		switch {
		case fence.MatchString(text):
			flush(at)
			fenced = !fenced
		case fenced:
		case text == "":
			flush(at)
			list = false
		case title.MatchString(text):
			flush(at)
			all = append(all, passage{heading, at, plain(title.ReplaceAllString(text, ""))})
		case strings.HasPrefix(text, "|"):
			flush(at)
			for cell := range strings.SplitSeq(text, "|") {
				if cell = strings.TrimSpace(cell); cell != "" {
					all = append(all, passage{prose, at, plain(cell)})
				}
			}
		case item.MatchString(text):
			flush(at)
			list = true
			open = []string{item.ReplaceAllString(text, "")}
		case !list && len(open) == 0 && columns(l) >= codeIndent:
		default:
			open = append(open, text)
		}
	}
	flush(number + len(lines))
	return all
}

// columns returns by how many columns a line is indented.
func columns(line string) (n int) {
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

// generated finds the parts of documents that are made from code or measurements.
var generated = regexp.MustCompile(`(?s)<!-- ([\w -]+) -->.*?<!-- /([\w -]+) -->`)

// markdown returns the passages of a document.
func markdown(text string) []passage {
	text = generated.ReplaceAllStringFunc(text, func(part string) string { return strings.Repeat("\n", strings.Count(part, "\n")) })
	return paragraphs(strings.Split(text, "\n"), 1, 4)
}

var notProse = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile("`[^`\n]*`"), "X"},                    // code
	{regexp.MustCompile(`!?\[([^\]]*)\]\([^)\s]*\)`), "[$1]"}, // a link, whose text is a title
	{regexp.MustCompile(`https?://\S+`), "X"},
	{regexp.MustCompile(`"[^"\n]{1,60}"`), "X"}, // a quotation
}

// plain returns text without code, addresses and quotations, which are not ours to
// judge. Each is one word in its place.
func plain(text string) string {
	for _, n := range notProse {
		text = n.pattern.ReplaceAllString(text, n.by)
	}
	return text
}

type span struct{ from, to int }

var (
	sentenceEnd  = regexp.MustCompile(`[.!?][")\]*_]*(?:\s+|$)`)
	abbreviation = regexp.MustCompile(`(?i)\b(?:e\.g|i\.e|etc|vs|cf)$`)
)

// sentences returns where the sentences of text are, without the spaces and
// brackets around them.
func sentences(text string) []span {
	var all []span
	from := 0
	add := func(to int) {
		for from < to && strings.ContainsRune(" \n(*_\"", rune(text[from])) {
			from++
		}
		end := from + len(strings.TrimRight(text[from:to], " \n)*_]\""))
		if from < end {
			all = append(all, span{from, end})
		}
		from = to
	}
	for _, m := range sentenceEnd.FindAllStringIndex(text, -1) {
		if !abbreviation.MatchString(text[from:m[0]]) {
			add(m[1])
		}
	}
	add(len(text))
	return all
}

// words returns how many words text has. A dash or an operator by itself is none.
func words(text string) (n int) {
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			n++
		}
	}
	return n
}
