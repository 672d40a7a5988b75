package livepage

import (
	"strings"
	"testing"
)

// The page looks for leaked goroutines when it is asked to, and only where the runtime can. It shows how many there are,
// and where they wait. Names are shown as text.
func TestLeaks(t *testing.T) {
	p := madeUp(t)
	p.view("sessions.js", "sessionsPage", `[]`, `{ sessions: { sessions: [], leaks: false } }`)
	const visible = `document.querySelector("#leaks").checkVisibility()`
	if eval[bool](p, visible) {
		t.Error("a runtime that cannot look for leaks is offered to")
	}
	p.tell("sessions", `{ sessions: [], leaks: true }`)
	p.wait(visible)
	eval[bool](p, `(answers.leaks = () => ({ at: 1, took: 20, goroutines: 5, cut: 2, stacks: [
		{ goroutines: 4, span: "GET /<b>", frames: ["runtime.gopark proc.go:1", "main.work /home/user/go/pkg/mod/example.com/a-module/with/a/long/path@v1.2.3/and/further/folders/main.go:7"] },
		{ goroutines: 1, frames: [] },
	] }), true)`)
	if asked := eval[int](p, `calls.filter(([name]) => name === "leaks").length`); asked > 0 {
		t.Errorf("it looked %d times before anybody asked", asked)
	}
	p.click("#look-for-leaks")
	p.wait(`document.querySelectorAll("#leak-stacks details").length === 2`)
	p.must(p.Look(View{Width: 360, Height: 740}))
	eval[bool](p, `(document.querySelectorAll("#leak-stacks details").forEach((d) => { d.open = true }), true)`)
	if over := eval[float64](p, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("on a phone, it is %g pixels too wide", over)
	}
	for selector, wants := range map[string][]string{
		"#leaks-found": {"5 goroutines leaked", "Not listed: 2 stacks"},
		"#leak-stacks": {"4 in main.work of GET /<b>", "1 in code that is not shown"},
	} {
		for _, want := range wants {
			if got := p.text(selector); !strings.Contains(got, want) {
				t.Errorf("%s is %q, want %q in it", selector, got, want)
			}
		}
	}
	eval[bool](p, `(answers.leaks = () => { throw new Error("not now") }, true)`)
	p.click("#look-for-leaks")
	p.wait(`document.querySelector("#error").checkVisibility() && document.querySelector("#error").innerText.includes("not now")`)
}
