package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A verdict is what the judge thinks of an outcome.
type verdict struct {
	cause  bool // the sentence names the right cause, with two causes the larger one first
	holder bool // and the holder, if there is one
	both   bool // the sentence names both of two causes

	others bool // the sentence first names other programs, which had the processors

	books string // why the times do not add up; empty if they do

	explained float64 // share of the request's time that the result gives to the right causes
}

// right reports whether the sentence is right.
func (v verdict) right() bool { return v.cause && v.holder }

// anotherRequest is in a sentence that does not know the request's name.
const anotherRequest = "another request"

// tolerance is what the sum of the states may differ from the request's time, as a share of it.
const tolerance = 0.02

// judge compares the outcome with the parts of the request.
func judge(parts []part, o outcome) (v verdict) {
	if o.Trouble != "" {
		v.books = o.Trouble
		return v
	}
	parts = slices.SortedFunc(slices.Values(parts),
		func(a, b part) int { return int(b.takes - a.takes) })
	named := namedCauses(o.Sentence)
	v.cause = len(named) > 0 && named[0].name == parts[0].cause.name
	if blames := parts[0].cause.blames; blames != nil && blames.MatchString(o.Sentence) {
		v.cause = false
	}
	if strings.Contains(firstClause(o.Sentence, named), anotherRequest) {
		v.cause = false // a request of the service has a name
	}
	v.others = len(named) > 0 && named[0].name == others && !parts[0].cause.others
	v.holder = parts[0].cause.holder == nil ||
		parts[0].cause.holder.MatchString(firstClause(o.Sentence, named))
	v.both = len(parts) == 1 ||
		slices.ContainsFunc(named, func(n naming) bool { return n.name == parts[1].cause.name })
	v.books = books(o)
	right := time.Duration(0)
	for _, c := range o.Causes {
		if slices.ContainsFunc(parts, func(p part) bool { return p.cause.is(c) }) {
			right += c.Duration
		}
	}
	v.explained = float64(right) / float64(o.Wall)
	return v
}

// books returns an error text unless the times of an outcome add up.
func books(o outcome) string {
	near := func(d time.Duration) bool {
		return (d - o.Wall).Abs() <= time.Duration(
			tolerance*float64(o.Wall))
	}
	switch {
	case o.Overlap != "":
		return "intervals overlap: " + o.Overlap
	case !near(o.Sum):
		return fmt.Sprintf("the states take %v, and the request %v", o.Sum, o.Wall)
	case !near(o.All + o.Gaps):
		return fmt.Sprintf("the causes take %v, the gaps %v, and the request %v", o.All, o.Gaps, o.Wall)
	}
	return ""
}

// A naming is where a sentence names a cause.
type naming struct {
	name string
	at   int
}

// namedCauses returns the causes that a sentence names, in its order.
func namedCauses(sentence string) (named []naming) {
	for _, c := range causes {
		for _, at := range c.names.FindAllStringIndex(sentence, -1) {
			if !strings.HasSuffix(sentence[:at[0]], ", which ") { // belongs to the cause before
				named = append(named, naming{c.name, at[0]})
				break
			}
		}
	}
	slices.SortFunc(named, func(a, b naming) int { return a.at - b.at })
	return named
}

// firstClause returns the part of a sentence that is about the first cause.
func firstClause(sentence string, named []naming) string {
	if len(named) < 2 {
		return sentence
	}
	return sentence[:named[1].at]
}
