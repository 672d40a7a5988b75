package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A rule is one of the project's rules of plain English.
type rule struct {
	pattern *regexp.Regexp
	advice  string
}

func newRule(pattern, advice string) rule {
	return rule{regexp.MustCompile(strings.ReplaceAll(pattern, " ", `\s+`)), advice}
}

const (
	nameSubject = "name the subject: the caller, a span, the encoder"
	plainOrder  = "write subject, verb, object"
)

// anywhere holds the rules for any place in a text.
var anywhere = []rule{
	newRule(`\b(?:[Nn]obody|[Ss]omebody|[Ww]hoever)\b`, nameSubject),
	newRule(`(?i)\bwho (?:is|has|wants|stops|starts|reads|runs|asks)\b`, nameSubject),
	newRule(`(?i)\b(?:that which|those of|that of)\b`, "repeat the noun"),
	newRule(`(?i)\b(?:of which there|is there|are there that|what is not)\b`, plainOrder),
	newRule(`; so (?:is|are|was|were|does|do|did|has|have|had|can|will|must)\b`, plainOrder),
	newRule(`(?i)\b(?:comes to an end|says so)\b`, "use one verb: ends, reports"),
}

// atStart holds the rules for the first words of a sentence that is no question.
var atStart = []rule{
	newRule(`^(?:Who|What) `, nameSubject),
	newRule(`^(?:So|Nor) (?:is|are|was|were|does|do|did|has|have|had|can|will|must)\b`, plainOrder),
	newRule(`^Of (?:what|those|these|several|others|all|the|a)\b`, plainOrder),
}

// headings holds the rules for a heading.
var headings = []rule{
	newRule(`^(?:Who\b|What\b.*\bnot\b)`, "use a noun: Limitations, Access"),
}

// maxWords is the length of the longest sentence that passes.
const maxWords = 30

// avoided are identifiers that say neither what a thing is nor what a function does.
var avoided = regexp.MustCompile(`^(?i:kept|told|held|behind|owed|besides|ending|running|finish|exist)$`)

// A finding is a place where a text is against a rule.
type finding struct {
	file       string
	line, last int // last is where the passage ends
	text       string
	advice     string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.file, f.line, f.text, f.advice)
}

// findings returns where the passage is against the rules, each place once.
func (p passage) findings(file string) []finding {
	var all []finding
	seen := map[int]bool{}
	add := func(offset int, text, advice string) {
		if seen[offset] {
			return
		}
		seen[offset] = true
		all = append(all, finding{file, p.line + strings.Count(p.text[:offset], "\n"), p.line + strings.Count(p.text, "\n"), text, advice})
	}
	apply := func(rules []rule, from, to int) {
		for _, r := range rules {
			for _, m := range r.pattern.FindAllStringIndex(p.text[from:to], -1) {
				found := strings.Join(strings.Fields(p.text[from+m[0]:from+m[1]]), " ")
				add(from+m[0], fmt.Sprintf("%q", found), r.advice)
			}
		}
	}
	if p.kind == identifier {
		if avoided.MatchString(p.text) {
			add(0, fmt.Sprintf("identifier %q", p.text), "use a noun or a verb of the field")
		}
		return all
	}
	apply(anywhere, 0, len(p.text))
	if p.kind == heading {
		apply(headings, 0, len(p.text))
		return all
	}
	for _, s := range sentences(p.text) {
		text := p.text[s.from:s.to]
		if !strings.HasSuffix(text, "?") {
			apply(atStart, s.from, s.to)
		}
		if n := words(text); n > maxWords && p.kind == prose {
			add(s.from, fmt.Sprintf("%d words from %q on", n, beginning(text)), fmt.Sprintf("write sentences of at most %d words, better of 20", maxWords))
		}
	}
	return all
}

// beginning returns the first four words.
func beginning(text string) string {
	all := strings.Fields(text)
	return strings.Join(all[:min(4, len(all))], " ")
}
