package livepage

import (
	"fmt"
	"testing"
)

// A loss is announced once, not with each entry; its numbers are there to be read.
func TestLossIsAnnouncedOnce(t *testing.T) {
	p := madeUp(t)
	count := func(n int) string {
		return fmt.Sprintf(`[{ group: "perfline.entries", kind: "mark", name: "dropped", what: "did not fit", n: %d, lost: true }]`, n)
	}
	p.view("counters.js", "counters", `[]`, `{ counts: `+count(0)+` }`)
	announced := `[...document.querySelectorAll("main [role=status], main [role=alert], main [aria-live]")].map((n) => n.textContent).join()`
	if text := eval[string](p, announced); text != "" {
		t.Errorf("%q is announced, and nothing was lost", text)
	}
	p.tell("counts", count(5))
	first := eval[string](p, announced)
	p.tell("counts", count(6))
	if text := eval[string](p, announced); first == "" || text != first {
		t.Errorf("%q is announced, then %q: want one announcement", first, text)
	}
	p.wait(`document.querySelector("#lost").innerText.includes("6 entries of type mark")`)
}
