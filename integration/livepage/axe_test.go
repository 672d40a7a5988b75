package livepage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A finding is a rule of axe-core that a page breaks.
type finding struct {
	Rule   string
	Impact string   // "minor", "moderate", "serious" or "critical"
	Nodes  []string // what breaks it, and how to fix that
}

// axe is what axe-core finds wrong with what is shown. Of long lists it is given the beginning,
// as it takes a second for each thousand of elements.
func (p tab) axe() []finding {
	p.t.Helper()
	eval[bool](p, `(() => {
		for (const list of document.querySelectorAll("tbody, [role=tree]")) while (list.children.length > 60) list.lastChild.remove();
		return true;
	})()`)
	found := eval[[]finding](p, `axe.run(document, { resultTypes: ["violations"] }).then((r) => {
		if (r.passes.length < 10) throw new Error("axe-core has looked at next to nothing");
		return r.violations.map((v) => ({
			Rule: v.id, Impact: v.impact, Nodes: v.nodes.map((n) => n.target + ": " + n.html.slice(0, 300) + " " + n.failureSummary),
		}));
	})`)
	return found
}

// The page is accessible on a phone, on a desk and on a wall, in light and in dark: axe-core finds
// nothing at all, and nothing needs sideways scrolling.
func TestAccessible(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(modules, "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range views() {
		t.Run(v.name, func(t *testing.T) {
			p := v.open(t, View{})
			eval[bool](p, string(script)+"; true")
			for _, width := range []int64{360, 1280, 3840} {
				for _, dark := range []bool{false, true} {
					look := View{Width: width, Height: width * 10 / 16, Dark: dark}
					if width == 360 {
						look.Height = 740
					}
					p.must(p.Look(look))
					at := fmt.Sprintf("%d wide, dark %t", width, dark)
					for _, f := range p.axe() {
						t.Errorf("%s: %s: %s:\n%s", at, f.Impact, f.Rule, strings.Join(f.Nodes[:min(3, len(f.Nodes))], "\n"))
					}
					if over := eval[float64](p, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
						t.Errorf("%s: %g pixels too wide: %q", at, over, eval[[]string](p, `[...document.querySelectorAll("body *")].filter((n) =>
							n.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((n) => n.outerHTML.slice(0, 200))`))
					}
				}
			}
		})
	}
}
