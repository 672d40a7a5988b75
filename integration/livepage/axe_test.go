package livepage

import (
	"fmt"
	"strconv"
	"strings"
)

// A finding is a rule of axe-core that a page breaks.
type finding struct {
	Rule   string
	Impact string   // "minor", "moderate", "serious" or "critical"
	Nodes  []string // what breaks it, and how to fix that
}

// A look at a page is with all rules of axe-core, with those that depend on what a look is, or with none.
type look struct {
	View
	rules string
}

// looks are on a desk, on a phone and on a wall, in light and in dark.
var looks = []look{
	{View{Width: 1280, Height: 800}, "all"}, {View{Width: 360, Height: 740, Dark: true}, "looks"}, {View{Width: 3840, Height: 800}, ""},
}

// axe is what axe-core finds wrong with what is shown. Of long lists it is given the beginning,
// as it takes a second for each thousand of elements.
func (p tab) axe(rules string) []finding {
	p.t.Helper()
	eval[bool](p, `(() => {
		for (const list of document.querySelectorAll("tbody, [role=tree]")) while (list.children.length > 10) list.lastChild.remove();
		for (const track of document.querySelectorAll(".track, .parts, .strip")) while (track.children.length > 5) track.lastChild.remove();
		for (const row of document.querySelectorAll("[role=grid] [role=row]")) while (row.children.length > 6) row.lastChild.remove();
		return true;
	})()`)
	options, least := "", 10
	if rules == "looks" {
		options, least = `runOnly: ["color-contrast", "link-in-text-block", "scrollable-region-focusable"],`, 1
	}
	found := eval[[]finding](p, `axe.run(document, {`+options+` resultTypes: ["violations"] }).then((r) => {
		if (r.passes.length < `+strconv.Itoa(least)+`) throw new Error("axe-core has looked at next to nothing");
		return r.violations.map((v) => ({
			Rule: v.id, Impact: v.impact, Nodes: v.nodes.map((n) => n.target + ": " + n.html.slice(0, 300) + " " + n.failureSummary),
		}));
	})`)
	return found
}

// accessible checks that axe-core finds nothing in any look, and that nothing needs sideways
// scrolling.
func (p tab) accessible() {
	p.t.Helper()
	if !eval[bool](p, `"axe" in window`) {
		eval[bool](p, axeScript+"; true")
	}
	for _, l := range looks {
		p.must(p.Look(l.View))
		at := fmt.Sprintf("%d wide, dark %t", l.Width, l.Dark)
		if l.rules != "" {
			for _, f := range p.axe(l.rules) {
				p.t.Errorf("%s: %s: %s:\n%s", at, f.Impact, f.Rule, strings.Join(f.Nodes[:min(3, len(f.Nodes))], "\n"))
			}
		}
		if over := eval[float64](p, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
			p.t.Errorf("%s: %g pixels too wide: %q", at, over, eval[[]string](p, `[...document.querySelectorAll("body *")].filter((n) =>
				n.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((n) => n.outerHTML.slice(0, 200))`))
		}
	}
	p.must(p.Look(View{}))
}
