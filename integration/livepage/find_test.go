package livepage

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Equal queries are one row, which opens by its key.
func TestEqualRowsAreOne(t *testing.T) {
	p := openBusy(t, "")
	const visible = `document.querySelectorAll('#waterfall tbody tr:not([hidden]) .pick[title^="sql.conn.query"]').length`
	p.wait(`document.querySelector("#waterfall tr.group").innerText.includes("sql.conn.query sqlite × 11")`)
	before := eval[int](p, visible)
	eval[bool](p, `(document.querySelector("#waterfall tr.group .pick").focus(), true)`)
	p.press(kb.ArrowRight)
	p.wait(visible + ` >= 11`)
	p.press(kb.ArrowLeft)
	if after := eval[int](p, visible); after != before || before >= 11 {
		t.Errorf("the page shows %d queries at first, and %d after the group closed", before, after)
	}
}

// The details of a group of equal spans lead to its slowest span and to the one that failed.
func TestDetailsOfGroup(t *testing.T) {
	p := openBusy(t, "")
	p.click("#waterfall tr.group .pick")
	p.wait(`document.querySelector("#details h2").innerText.endsWith("sql.conn.query sqlite × 11")`)
	for _, want := range []string{"In all 23.0 ms", "Spans 11", "Failed 1", "The slowest 3.00 ms at 33.0 ms", "Failed 2.00 ms at 21.0 ms"} {
		if text := p.text("#details"); !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("the details are\n%s\nwant %q", text, want)
		}
	}
	p.click("#slowest-span button")
	p.wait(`document.querySelector("#details dl").innerText.includes("33.0 ms") && document.querySelector("#waterfall .pick[aria-current]").checkVisibility()`)
}

// A search finds attributes, opens the group of a hit, and is in the address.
func TestSearchInRequest(t *testing.T) {
	p := openBusy(t, "")
	eval[bool](p, `(document.querySelector("#search").focus(), true)`)
	p.press("no such TABLE")
	p.wait(`document.querySelector("#hits").innerText === "1 hit" && decodeURIComponent(location.hash).includes("TABLE")`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("#hits").innerText === "1 of 1" && !document.querySelector("#waterfall tr.hit").hidden`)
	p.press(kb.Escape)
	p.wait(`document.querySelector("#search").value === "" && !document.querySelector("#waterfall tr.hit") && !location.hash.includes("TABLE")`)
	p.press("sqlite")
	p.wait(`document.querySelector("#hits").innerText === "11 hits"`)
	p.press(kb.Enter, chromedp.ModifierShift)
	p.wait(`document.querySelector("#hits").innerText === "11 of 11"`)
	p.press(kb.Enter)
	p.wait(`document.querySelector("#hits").innerText === "1 of 11"`)
}

// Neither the head of the table nor the details at the bottom of a small window cover a row that the search or a key leads to.
func TestRowsAreNotCovered(t *testing.T) {
	p := openBusyIn(t, "", View{Width: 360, Height: 500})
	const covered = `(() => {
		const row = document.querySelector("#waterfall .pick[aria-current]").closest("tr");
		const { top, bottom } = (document.activeElement.closest("#waterfall tbody tr") ?? row).getBoundingClientRect();
		const head = document.querySelector("#waterfall thead th").getBoundingClientRect().bottom;
		const details = document.querySelector("#details").getBoundingClientRect().top;
		return top >= head - 1 && bottom <= Math.min(details, innerHeight) + 1 ? "" : ` + "`the row from ${top} to ${bottom} is not between ${head} and ${details}`" + `;
	})()`
	eval[bool](p, `(document.querySelector("#search").focus(), true)`)
	p.press("sqlite")
	p.wait(`document.querySelector("#hits").innerText === "11 hits"`)
	for i := range 12 {
		p.press(kb.Enter)
		p.settle()
		if text := eval[string](p, covered); text != "" {
			t.Errorf("hit %d: %s", i, text)
		}
	}
	eval[bool](p, `(document.querySelector("#waterfall .pick").focus(), true)`)
	for _, key := range []string{kb.ArrowDown, kb.ArrowUp} {
		for range 12 {
			p.press(key)
			if text := eval[string](p, covered); text != "" {
				t.Errorf("by the key %q: %s", key, text)
			}
		}
	}
}

// A search in an address is done when the page opens.
func TestSearchByAddress(t *testing.T) {
	p := openBusy(t, "?q=home+page") // an attribute of a mark
	p.wait(`document.querySelector("#hits").innerText === "1 hit" && document.querySelector("#search").value === "home page"`)
	p.wait(`document.querySelector("#waterfall tr.hit").innerText.includes("template.miss")`)
}

// The sentence names the spans on the critical path, and the toggle hides the path.
func TestCriticalPathOfRequest(t *testing.T) {
	p := openBusy(t, "")
	const shown = `[...document.querySelectorAll("#waterfall .critical")].some((n) => n.checkVisibility({ visibilityProperty: true }))`
	p.wait(shown)
	p.click("#path-toggle")
	p.wait(`document.querySelector("#path-toggle").ariaPressed === "false" && !(` + shown + `)`)
	p.click("#path-toggle")
	p.wait(shown)
	p.wait(`document.querySelector("#critical-path").innerText.includes("sql.conn.query sqlite × 11")`)
	eval[bool](p, `([...document.querySelectorAll("#critical-path button")].find((b) => b.innerText === "render").click(), true)`)
	p.wait(`document.querySelector('#waterfall .pick[aria-current=true]').title === "render"`)
}
