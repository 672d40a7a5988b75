package livepage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A request opens by a click, the slowest one above all: its spans and marks on one axis, and
// what is known of the one that is selected.
func TestRequest(t *testing.T) {
	p := openRecorded(t, "", View{})
	p.wait(`document.querySelector("#slowest tbody tr")`)
	p.openFirst("#slowest")
	p.must(p.Back())
	p.wait(`document.querySelector("#recent tbody tr")`)

	p.click("#filter-route")
	p.press("POST /orders")
	p.wait(`document.querySelector("#matches tbody tr")?.innerText.includes("POST /orders")`)
	p.click("#pause")
	p.openFirst("#matches")
	rows := eval[[]string](p, `[...document.querySelectorAll("#waterfall tbody tr")].map((tr) => tr.dataset.kind + " " + tr.querySelector(".pick bdi").innerText)`)
	all := strings.Join(rows, "\n") + "\n"
	for _, want := range []string{"server POST /orders\n", "mark order.accepted\n", "measure checkout\n", "mark order.paid\n", "measure accepted-to-paid\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("the waterfall has no row %q:\n%s", want, all)
		}
	}
	if !regexp.MustCompile(`(?m)^client POST 127\.0\.0\.1:\d+$`).MatchString(all) {
		t.Errorf("no call has its method and host:\n%s", all)
	}
	// A mark with its attributes, and where it is on the axis.
	mark := `[...document.querySelectorAll("#waterfall tr.mark")].find((tr) => tr.innerText.includes("order.accepted"))`
	beside := eval[string](p, mark+`.querySelector(".lane").innerText`)
	if !regexp.MustCompile(`^product=\d+ quantity=\d$`).MatchString(beside) {
		t.Errorf("beside the mark is %q, want its attributes", beside)
	}
	row := eval[string](p, mark+`.dataset.row`)
	p.click(`#waterfall tr[data-row="` + row + `"] .pick`)
	p.wait(`document.querySelector("#details h2").innerText === "mark order.accepted"`)
	details := p.text("#details")
	for _, want := range append(strings.Split(strings.ReplaceAll(beside, "=", "\n"), " "), "On\nPOST /orders") {
		if !strings.Contains(details, want) {
			t.Errorf("the details of the mark are\n%s\nwant %q", details, want)
		}
	}
	p.wait(fmt.Sprintf(`location.hash.endsWith("?row=%s")`, row))

	// Bars are within the axis, each span's within the request's, and have a length.
	if outside := eval[[]string](p, `(() => {
		const axis = document.querySelector("#waterfall tbody .track").getBoundingClientRect();
		return [...document.querySelectorAll("#waterfall .bar")].filter((bar) => {
			const { left, right, width } = bar.getBoundingClientRect();
			return width < 1 || left < axis.left - 1 || right > axis.right + 3;
		}).map((bar) => bar.closest("tr").innerText);
	})()`); len(outside) > 0 {
		t.Errorf("outside of the axis, or nothing to be seen: %q", outside)
	}

	p.must(p.Back())
	p.wait(`document.querySelector("#filter-route")?.value === "POST /orders"`)
}

// openFirst clicks on the first request of a list, and waits until it is shown.
func (p tab) openFirst(list string) {
	p.t.Helper()
	first := `document.querySelector("` + list + ` tbody tr")`
	want := eval[[]string](p, `(({ dataset, children }) => [dataset.trace, children[0].innerText, children[2].innerText])(`+first+`)`)
	p.click(list + " tbody tr a")
	p.wait(`document.querySelector("#waterfall tbody tr")`)
	if got := []string{p.text("#trace"), p.text("h1"), p.text("#took")}; !slices.Equal(got, want) {
		p.t.Errorf("the page shows %q, of the list is chosen %q", got, want)
	}
}

// A request is shown though its flame graph cannot be.
func TestRequestWithoutFlameGraph(t *testing.T) {
	p := openRecorded(t, "#/counters", View{})
	p.wait(`document.querySelector(".counters table")`)
	eval[bool](p, `(() => {
		const real = window.fetch;
		window.fetch = async (path, options) => path.startsWith("data/v1/profile/flame") ? new Response('{"error":"on purpose"}', { status: 503 }) : real(path, options);
		return true;
	})()`)
	p.show(recorded.request)
	p.wait(`document.querySelector("#ran [role=alert]")?.innerText === "on purpose"`)
	if !eval[bool](p, `Boolean(document.querySelector("#waterfall .pick[aria-current]")?.checkVisibility())`) {
		t.Errorf("the page shows\n%s\nwant the waterfall", p.text("main"))
	}
}

// extensions are the ends of the names of a request's files, by their formats.
var extensions = map[string]string{"svg": "svg", "firefox": "firefox.json", "perfetto": "perfetto.json", "speedscope": "speedscope.json", "pprof": "pb.gz", "otlp": "otlp.json"}

// A request with samples has a link to each of its files.
func TestLinksToFiles(t *testing.T) {
	p := openRecorded(t, recorded.request, View{})
	p.wait(`document.querySelector("#files")`)
	p.click("#files summary")
	links := eval[map[string]string](p, `Object.fromEntries([...document.querySelectorAll("#files a")].map((a) => [a.dataset.format, a.getAttribute("href")]))`)
	if len(links) != len(extensions) {
		t.Errorf("the files are %q, want %d", links, len(extensions))
	}
	for format := range extensions {
		if want := strings.Replace(recorded.request, "#/", "data/v1/", 1) + "/" + format; links[format] != want {
			t.Errorf("the link of %s is %q, want %q", format, links[format], want)
		}
	}
}

// Names of attributes break into lines after their dots, not within words.
func TestNamesOfAttributes(t *testing.T) {
	p := openRecorded(t, recorded.request, View{})
	p.wait(`document.querySelector("#details dt")`)
	broken := eval[[]string](p, `[...document.querySelectorAll("#details dt bdi")].flatMap((n) => [...n.childNodes]).filter((n) => {
		const range = document.createRange();
		range.selectNode(n);
		return n.nodeType === 3 && range.getClientRects().length > 1;
	}).map((n) => n.data)`)
	if len(broken) > 0 {
		t.Errorf("on two lines each: %q", broken)
	}
}
