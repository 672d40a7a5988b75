package livepage

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/profiling/sessions"
)

// manyRequests serves the page of a program with four routes. A usual request takes 1 ms, and there
// are 20. Two slow ones take 20 ms, three of 1 ms fail, and a rare one takes 2 ms. A slow machine
// does not make them longer: all end at the same time, and are in the same column.
func manyRequests(t *testing.T) (page string) {
	t.Helper()
	pl, _ := startPerfline(t, sessions.Config{})
	tracer := pl.TracerProvider().Tracer("t")
	ended := time.Now()
	for _, r := range []struct {
		name      string
		n, status int
		took      time.Duration
	}{
		{"GET /usual", 20, http.StatusOK, ms},
		{"GET /slow", 2, http.StatusOK, 20 * ms},
		{"GET /fail", 3, http.StatusInternalServerError, ms},
		{"GET /rare", 1, http.StatusOK, 2 * ms},
	} {
		for range r.n {
			_, s := tracer.Start(t.Context(), r.name, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(ended.Add(-r.took)),
				trace.WithAttributes(attribute.Int("http.response.status_code", r.status)))
			if r.status == http.StatusInternalServerError {
				s.SetStatus(codes.Error, "")
			}
			s.End(trace.WithTimestamp(ended))
		}
	}
	return listen(t, live.Handler(pl, live.Config{})) + live.Prefix
}

const (
	routeNames = `[...document.querySelectorAll("#routes-table tbody:not(.total) a.route")].map((a) => a.innerText).join()`
	fourRoutes = `document.querySelectorAll("#routes-table tbody:not(.total) tr").length === 4 && document.querySelector("#heat [role=gridcell]")`
	found      = `[...document.querySelectorAll("#matches tbody a")].map((a) => a.innerText).sort().join()`
)

// The columns of the table sort it. The order and the window are part of the address.
func TestRouteTable(t *testing.T) {
	p := open(t, manyRequests(t), View{Width: 1800, Height: 1000})
	p.wait(fourRoutes)
	if got := eval[string](p, routeNames); got != "GET /usual,GET /fail,GET /slow,GET /rare" {
		t.Errorf("by count, the routes are %s", got)
	}
	p.wait(`document.querySelector("[data-column=count]").ariaSort === "descending"`)
	p.click("[data-column=p99] button")
	p.wait(`location.hash === "#/?sort=-p99" && document.querySelector("[data-column=p99]").ariaSort === "descending" && document.querySelectorAll("#routes-table [aria-sort]").length === 1 && ` + routeNames + `.startsWith("GET /slow,")`)
	p.press(kb.Enter) // the button still has the focus
	p.wait(`location.hash === "#/?sort=p99" && document.querySelector("[data-column=p99]").ariaSort === "ascending" && ` + routeNames + `.endsWith(",GET /slow")`)
	p.click("[data-column=share] button")
	p.wait(routeNames + `.startsWith("GET /fail,")`)
	p.click("[data-column=route] button")
	p.wait(routeNames + ` === "GET /fail,GET /rare,GET /slow,GET /usual"`)
	cells := eval[string](p, `[...document.querySelectorAll("#routes-table [data-key='GET /fail'] :is([data-cell=count], [data-cell=failed], [data-cell=share])")].map((td) => td.innerText).join()`)
	if cells != "3,3,100.0 %" {
		t.Errorf("count, errors and share are %s", cells)
	}

	p.click("[data-window=start]")
	p.wait(`location.hash === "#/?window=start&sort=route" && document.querySelector("[data-window=start]").ariaPressed === "true" && document.querySelector("[data-window=minutes]").ariaPressed === "false"`)
	p.wait(fourRoutes)
	p.click("[data-window=minutes]")
	p.wait(`location.hash === "#/?sort=route"`)

	// A route selects its heat map and its requests; the line of all requests leads back.
	p.click("#routes-table [data-key='GET /slow'] a.route")
	p.wait(`document.querySelector("#routes-table [data-key='GET /slow'] [aria-current=true]") && document.querySelector("#heat-section .title bdi").innerText === "GET /slow"`)
	p.wait(found + ` === "GET /slow,GET /slow" && document.querySelector("#filter-route").value === "GET /slow" && document.querySelector("#found").innerText === "2 of 26 requests in memory"`)
	p.press(kb.ArrowDown)
	p.wait(`document.activeElement.closest("tr").dataset.key === "GET /usual"`)
	p.click("#routes-table .total a")
	p.wait(`document.querySelector("#recent").checkVisibility() && document.querySelector("#heat-section .title bdi").innerText === "all requests"`)
	p.must(p.Back())
	p.wait(found + ` === "GET /slow,GET /slow"`)
}

// A cell of the heat map describes its requests, and finds them by mouse and by keyboard.
func TestHeatMap(t *testing.T) {
	p := open(t, manyRequests(t), View{Width: 1800, Height: 1000})
	p.wait(fourRoutes)
	cells := `[...document.querySelectorAll("#heat [role=gridcell]")]`
	if n := eval[int](p, cells+`.reduce((n, c) => n + (/: ([0-9]+) request/.exec(c.ariaLabel)?.[1] | 0) * !c.ariaLabel.includes("failed"), 0)`); n != 26 {
		t.Errorf("the cells have %d requests, want 26", n)
	}
	if n := eval[int](p, `document.querySelectorAll("#heat [tabindex='0']").length`); n != 1 {
		t.Errorf("the tab key comes to %d cells, want one", n)
	}
	// The map waits while a cell has the focus: else a new column could come before the click, and the cell have other requests.
	eval[bool](p, `(`+cells+`.find((c) => c.dataset.level === "failed").id = "failures", document.querySelector("#failures").focus(), true)`)
	p.click("#failures")
	p.wait(`location.hash.includes("status=error") && location.hash.includes("class=requests") && ` + found + ` === "GET /fail,GET /fail,GET /fail" && document.querySelector("#failures").ariaSelected === "true"`)
	p.wait(`document.querySelector("#found").innerText === "3 of 3 requests of this cell are in memory" && document.querySelector("#heat-about").innerText.endsWith("failed: 3 requests")`)
	p.click("#failures")
	p.wait(`location.hash === "#/" && document.querySelector("#recent").checkVisibility()`)

	// The slow requests are in the highest row with requests.
	eval[bool](p, `(`+cells+`.find((c) => c.dataset.level > 0).focus(), true)`)
	p.wait(`/: [12] requests?$/.test(document.querySelector("#heat-about").innerText) && document.activeElement.tabIndex === 0`)
	p.press(kb.ArrowDown)
	p.press(kb.ArrowUp)
	p.press(kb.Enter)
	p.wait(`/from=.+&to=.+/.test(location.hash) && location.hash.includes("min=") && /^GET .slow(,GET .slow)?$/.test(` + found + `)`)
	p.wait(`/^[12] of [12] requests? of this cell (is|are) in memory$/.test(document.querySelector("#found").innerText)`)
	p.wait(`document.activeElement.ariaSelected === "true" && document.querySelector("#filter-ended").innerText.startsWith("ended ")`)
	p.press(kb.Home)
	p.press(kb.PageUp)
	p.wait(`document.activeElement.parentElement === document.querySelector("#heat").firstChild && document.querySelector("#heat-about").innerText.includes("failed")`)
	p.click("#filter-anytime")
	p.wait(`!location.hash.includes("from=") && location.hash.includes("min=") && document.activeElement.id === "filter-text"`)
	p.must(p.Back()) // to before the cell
	p.wait(`location.hash === "#/" && document.querySelector("#recent").checkVisibility()`)
}

// A map stays when its next data does not arrive. A map that does not exist has a reason in its place.
func TestHeatMapWithoutAnswer(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(answers.heat = () => ({ start: 0, step: 10000, bounds: [0, 1], counts: [[4]], failed: [0] }), true)`)
	p.view("overview.js", "overview", `[]`, `{ page: { data: "everything" }, `+noRequests+`, routes: `+routesEvent("")+` }`)
	const mapShown = `document.querySelector("#heat").checkVisibility() && !document.querySelector("#heat-none").checkVisibility()`
	p.wait(mapShown)
	eval[bool](p, `(answers.heat = () => { throw new Error("on purpose") }, calls.length = 0, true)`)
	p.tell("routes", routesEvent(""))
	p.wait(`calls.length === 1`)
	p.settle()
	if !eval[bool](p, mapShown) {
		t.Errorf("instead of the map, the page shows %q", p.text("#heat-section"))
	}
	eval[bool](p, `(view.go(new URLSearchParams({ route: "GET /" })), true)`)
	p.wait(`document.querySelector("#heat-none").checkVisibility() && document.querySelector("#heat-none").innerText === "on purpose" && !document.querySelector("#heat").checkVisibility()`)
	eval[bool](p, `(answers.heat = () => ({ start: 0, step: 10000, bounds: [], counts: [], failed: [] }), true)`)
	p.tell("routes", routesEvent(""))
	p.wait(`document.querySelector("#heat-none").innerText === "No request ended in this time."`)
}

// Keys lead from cell to cell of the map, and stop at its edges.
func TestHeatMapByKeys(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(answers.heat = () => ({ start: 0, step: 10000, bounds: [0, 1, 10, 100], counts: [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]], failed: [0, 1, 2, 3] }), true)`)
	p.view("overview.js", "overview", `[]`, `{ page: { data: "everything" }, `+noRequests+`, routes: `+routesEvent("")+` }`)
	p.wait(`document.querySelectorAll("#heat [role=gridcell]").length === 16`)
	eval[bool](p, `(document.querySelector("#heat [tabindex='0']").focus(), true)`) // the last column's shortest durations
	at := func() string {
		return eval[string](p, `document.activeElement.ariaLabel.replace(/^.*, (.*): (.*) requests?$/, "$1: $2")`)
	}
	for i, step := range []struct{ key, want string }{
		{"", "0 to 1.00 ms: 10"},
		{kb.ArrowUp, "1.00 ms to 10.0 ms: 11"},
		{kb.ArrowLeft, "1.00 ms to 10.0 ms: 8"},
		{kb.ArrowDown, "0 to 1.00 ms: 7"},
		{kb.ArrowDown, "0 to 1.00 ms: 7"},
		{kb.ArrowRight, "0 to 1.00 ms: 10"},
		{kb.ArrowRight, "0 to 1.00 ms: 10"},
		{kb.Home, "0 to 1.00 ms: 1"},
		{kb.ArrowLeft, "0 to 1.00 ms: 1"},
		{kb.End, "0 to 1.00 ms: 10"},
		{kb.PageUp, "failed: 3"},
		{kb.ArrowUp, "failed: 3"},
		{kb.ArrowLeft, "failed: 2"},
		{kb.PageDown, "0 to 1.00 ms: 7"},
	} {
		if step.key != "" {
			p.press(step.key)
		}
		if got := at(); got != step.want {
			t.Errorf("key %d leads to %q, want %q", i, got, step.want)
		}
		if got, want := p.text("#heat-about"), eval[string](p, `document.activeElement.ariaLabel`); got != want {
			t.Errorf("below the map is %q, want %q", got, want)
		}
	}
	if n := eval[int](p, `document.querySelectorAll("#heat [tabindex='0']").length`); n != 1 {
		t.Errorf("the tab key comes to %d cells, want one", n)
	}
}

// The fields of the form find requests, each by itself and together.
func TestFindRequests(t *testing.T) {
	page := manyRequests(t)
	p := open(t, page, View{})
	p.wait(`document.querySelectorAll("#recent tbody tr").length === 26`)
	three, slow := "GET /fail,GET /fail,GET /fail", "GET /slow,GET /slow"
	for _, c := range []struct{ field, value, found string }{
		{"text", "/RARE", "GET /rare"},
		{"route", "GET /slow", slow},
		{"status", "5xx", three},
		{"min", "20 ms", slow},
		{"max", "1ns", ""},
		{"attribute", "http.response.status_code=500", three},
	} {
		p.click("#filter-" + c.field)
		p.insert(c.value)
		hash := "#/?" + url.Values{c.field: {c.value}}.Encode()
		p.wait(fmt.Sprintf(`location.hash === %q && document.querySelector("#matches").checkVisibility() && document.querySelector("#found").innerText !== "" && %s === %q`, hash, found, c.found))
		if c.found == "" {
			p.wait(`document.querySelector("#matches").innerText.includes("No request in memory is like that.")`)
		}
		p.must(p.Go("#/?text=rare"))
		p.wait(found + ` === "GET /rare" && document.querySelector("#filter-` + c.field + `").value === ` + map[bool]string{true: `"rare"`, false: `""`}[c.field == "text"])
		p.must(p.Go(hash)) // an address has the question
		p.wait(fmt.Sprintf(`%s === %q && document.querySelector("#filter-%s").value === %q`, found, c.found, c.field, c.value))
		p.click("#filter-clear")
		p.wait(`location.hash === "#/" && document.querySelector("#recent").checkVisibility()`)
	}
	p.click("#errors")
	p.wait(`location.hash === "#/?status=error" && ` + found + ` === "` + three + `"`)
	p.click("#errors")
	p.wait(`location.hash === "#/"`)
	eval[bool](p, `(() => { const s = document.querySelector("#filter-class"); s.value = "streams"; s.dispatchEvent(new Event("change")); return true })()`)
	p.wait(`location.hash === "#/?class=streams" && document.querySelector("#found").innerText === "0 of 0 requests in memory"`)
}

// An error is next to its field, with the value and the rule, until the field is right.
func TestWrongField(t *testing.T) {
	p := openWithFaults(t, manyRequests(t), View{}) // whose refused questions count as faults
	p.wait(`document.querySelectorAll("#recent tbody tr").length === 26`)
	p.click("#filter-min")
	p.press("20")
	p.wait(`document.querySelector("#filter-min").ariaInvalid === "true" && document.querySelector("#wrong-min").checkVisibility()`)
	if text := p.text("#wrong-min"); text != `duration "20": must be a number with a unit, such as 250us, 5 ms or 1.5s` {
		t.Errorf("the error is %q", text)
	}
	if by := eval[string](p, `document.querySelector("#filter-min").getAttribute("aria-describedby")`); by != "wrong-min" {
		t.Errorf("%q describes the field", by)
	}
	p.press("ms")
	p.wait(found + ` === "GET /slow,GET /slow" && !document.querySelector("[aria-invalid]") && !document.querySelector("#wrong-min").checkVisibility() && document.activeElement.id === "filter-min"`)
}

// An answer that comes late is not shown under another question, which the server does not understand.
func TestLateAnswer(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(() => {
		answers.heat = () => ({ start: 0, step: 10000, bounds: [], counts: [], failed: [] });
		const others = window.fetch;
		const late = window.late = Promise.withResolvers();
		window.asked = [];
		window.fetch = async (path, options) => {
			const [name, query] = String(path).split("?");
			if (!name.endsWith("/requests")) return others(path, options);
			const min = new URLSearchParams(query).get("min");
			asked.push(min);
			if (min === "2") return new Response(JSON.stringify({ error: "a unit is missing", field: "min" }), { status: 400 });
			await Promise.race([late.promise, new Promise((_, no) => options.signal.addEventListener("abort", () => no(options.signal.reason)))]);
			return new Response(JSON.stringify({ inMemory: 7, requests: [{ trace: "ab", span: "cd", name: "GET /late", took: 5, start: 0 }] }));
		};
		return true;
	})()`)
	p.view("overview.js", "overview", `[]`, `{ page: { data: "everything" }, `+noRequests+`, routes: `+routesEvent("")+` }`)
	ask := func(least string) {
		eval[bool](p, `(view.go(new URLSearchParams({ min: "`+least+`" })), true)`)
	}
	ask("2")
	p.wait(`document.querySelector("#wrong-min").checkVisibility()`)
	if eval[bool](p, `document.querySelector("#matches").checkVisibility()`) {
		t.Error("a list is shown that answers no question")
	}
	ask("2s")
	p.wait(`asked.at(-1) === "2s"`)
	ask("2")
	eval[bool](p, `(late.resolve(), true)`)
	p.settle()
	if text := p.text("#matches"); strings.Contains(text, "GET /late") || !eval[bool](p, `document.querySelector("#wrong-min").checkVisibility()`) {
		t.Errorf("the answer to 2s is shown for 2: %q, asked %v", text, eval[[]string](p, `asked`))
	}
	ask("2s")
	p.wait(`document.querySelector("#matches").checkVisibility() && ` + found + ` === "GET /late" && !document.querySelector("#wrong-min").checkVisibility()`)
}

// The form suggests the routes of the class that it asks for, each one time.
func TestSuggestedRoutes(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(answers.heat = () => ({ start: 0, step: 10000, bounds: [], counts: [], failed: [] }), answers.requests = () => ({ inMemory: 0, requests: [] }), true)`)
	p.view("overview.js", "overview", `[]`, `{ page: { data: "everything" }, `+noRequests+`, routes: `+
		routesEvent("", routeOf("GET /", "requests", ""), routeOf("GET /", "streams", ""), routeOf("tick", "background", ""), routeOf("sql.dial", "housekeeping", ""))+` }`)
	const suggested = `[...document.querySelectorAll("#filter-routes option")].map((o) => o.value).join()`
	if got := eval[string](p, suggested); got != "GET /" {
		t.Errorf("for requests and streams, %q is suggested", got)
	}
	eval[bool](p, `(view.go(new URLSearchParams({ class: "background" })), true)`)
	if got := eval[string](p, suggested); got != "tick" {
		t.Errorf("for background work, %q is suggested", got)
	}
}

// routesEvent is made-up data of routes.
func routesEvent(concerns string, routes ...string) string {
	return fmt.Sprintf(`{ window: "minutes", all: null, health: { sentence: "7 requests/s.", concerns: [%s] }, routes: [%s] }`, concerns, strings.Join(routes, ","))
}

func routeOf(name, class string, more string) string {
	return fmt.Sprintf(`{ route: %q, class: %q, count: 5, failed: 1, perSecond: 1, p50: 1, p95: 2, p99: 3, max: 4, strip: [0, 5], failedIn: [1]%s }`, name, class, more)
}

const noRequests = `requests: { service: "x", requests: [], slowest: [], kept: [], streams: [], background: [], housekeeping: [] }`

// The health line begins with what is wrong, and a screen reader hears only that.
func TestHealthLine(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(answers.heat = () => ({ start: 0, step: 10000, bounds: [], counts: [], failed: [] }), true)`)
	p.view("overview.js", "overview", `[]`, `{ page: { data: "everything" }, `+noRequests+`, routes: `+routesEvent("")+` }`)
	p.wait(`document.querySelector("#health").innerText === "7 requests/s." && !document.querySelector("#health.bad")`)
	p.tell("runtime", `{ samples: [{ at: 0, latencies: { p99: 900 } }, { at: 60000, latencies: { p99: 12 }, gcPauses: { max: 9 } }, { at: 65000 }] }`)
	p.wait(`document.querySelector("#health.bad").innerText === "Processors are busy: 1 in 100 goroutines waited 12.0 ms or longer for a processor in the last minute. 7 requests/s."`)
	p.tell("routes", routesEvent(`{ title: "Errors are up", text: "<b>5 %</b>", href: "#/?status=error" }`))
	p.wait(`document.querySelector("#health").innerText.startsWith("Errors are up: <b>5 %</b>. Processors are busy: ") && document.querySelector("#health-said").innerText === "Errors are up, Processors are busy"`)
	eval[bool](p, `(document.querySelector("#health a").focus(), true)`)
	p.tell("routes", routesEvent(`{ title: "Errors are up", text: "6 %", href: "#/?status=error" }`))
	p.wait(`document.activeElement.matches("#health a[href='#/?status=error']")`)
	p.tell("routes", routesEvent(""))
	p.tell("runtime", `{ samples: [{ at: 90000, gcPauses: { max: 11 } }] }`)
	p.wait(`document.querySelector("#health").innerText === "Long GC pauses: a garbage collection stopped the program for 11.0 ms in the last minute. 7 requests/s." && document.activeElement.id === "main"`)
}

// Streams, background units and pool housekeeping are in folded sections of their own. Routes without room have a row without a profile.
func TestRoutesApart(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(answers.heat = () => ({ start: 0, step: 10000, bounds: [], counts: [], failed: [] }), true)`)
	p.view("overview.js", "overview", `[]`, `{ page: { data: "everything" }, `+noRequests+`, routes: `+routesEvent("", routeOf("GET /", "requests", ""), routeOf("other routes", "requests", ", others: true"), routeOf("GET /events", "streams", ""), routeOf("tick", "background", ""))+` }`)
	p.wait(routeNames + ` === "GET /,other routes"`)
	if n := eval[int](p, `document.querySelectorAll("#routes-table a[href^='#/sessions']").length`); n != 1 {
		t.Errorf("%d routes can be profiled, want only GET /", n)
	}
	for id, visible := range map[string]bool{"streams": true, "background": true, "housekeeping": false} {
		if got := eval[bool](p, fmt.Sprintf(`document.getElementById(%q).checkVisibility()`, id)); got != visible {
			t.Errorf("section %s is visible: %t", id, got)
		}
	}
	if text := p.text("#streams summary"); text != "Streams 1 route, 5 streams" {
		t.Errorf("the section's title is %q", text)
	}
	if eval[bool](p, `document.querySelector("#streams-table").checkVisibility()`) {
		t.Error("the section of streams is not folded")
	}
	p.click("#streams summary")
	p.wait(`document.querySelector("#streams-table").checkVisibility() && document.querySelector("#streams-table a.route").getAttribute("href") === "#/?route=GET+%2Fevents&class=streams"`)
}

// What has no request is in the section of the background, also without a root span there: a sentence and the places, whose names are
// text. An empty list says why there are figures and no spans.
func TestWithoutARequest(t *testing.T) {
	strays := func(event, places string) string {
		return `{ ...` + event + `, strays: { sentence: "These 312 queries have no request: pass ctx.", places: [` + places + `] } }`
	}
	const place = `{ what: "query", function: "example.com/shop/store.(*DB).Items", count: 1312 }`
	p := madeUp(t)
	eval[bool](p, `(answers.heat = () => ({ start: 0, step: 10000, bounds: [], counts: [], failed: [] }), true)`)
	p.view("overview.js", "overview", `[]`, `{ page: { data: "everything" }, `+noRequests+`, routes: `+routesEvent("")+` }`)
	p.wait(`document.querySelector("#recent").innerText.includes("Nothing yet") && !document.querySelector("#background").checkVisibility()`)
	p.tell("routes", strays(routesEvent("", routeOf("GET /", "requests", ""), routeOf("tick", "background", "")), place+`, { what: "mark", function: "<b>x", count: 1 }`))
	p.wait(`document.querySelector("#background").checkVisibility()`)
	p.click("#background summary")
	const rows = `[...document.querySelectorAll("#strays tbody tr")].map((r) => [...r.children].map((c) => c.innerText).join(" ")).join()`
	p.wait(`document.querySelector("#strays").checkVisibility() && ` + rows + ` === "query (*DB).Items 1,312,mark <b>x 1"`)
	if text := p.text("#strays .note"); text != "These 312 queries have no request: pass ctx." {
		t.Errorf("the sentence is %q", text)
	}
	for _, list := range []string{"#recent", "#background-list"} {
		if text := p.text(list); !strings.Contains(text, "None in memory: the sampler dropped their spans, or memory was full.") {
			t.Errorf("%s says %q", list, text)
		}
	}
	p.tell("routes", strays(routesEvent(""), ""))
	p.wait(`document.querySelector("#background").checkVisibility() && document.querySelector("#strays .note").checkVisibility() && !document.querySelector("#strays table").checkVisibility()`)
}

// More routes than fit are behind a button. The order stays while a row has the focus.
func TestManyRoutes(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(answers.heat = () => ({ start: 0, step: 10000, bounds: [], counts: [], failed: [] }), true)`)
	p.view("overview.js", "overview", `[]`, `{ page: { data: "everything" }, `+noRequests+`, routes: `+routesEvent("")+` }`)
	if text := p.text("#routes"); !strings.Contains(text, "No request ended in the last 5 minutes.") {
		t.Errorf("without routes, the page says %q", text)
	}
	var all, turned []string
	for i := range 20 {
		all = append(all, routeOf(fmt.Sprintf("GET /%02d", i), "requests", fmt.Sprintf(", count: %d", 100-i)))
		turned = append(turned, routeOf(fmt.Sprintf("GET /%02d", i), "requests", fmt.Sprintf(", count: %d", 100+i)))
	}
	p.tell("routes", routesEvent("", all...))
	p.wait(`document.querySelectorAll("#routes-table tbody:not(.total) tr").length === 12 && document.querySelector("#routes-table .more").innerText === "All 20 routes"`)
	p.click("#routes-table .more")
	p.wait(`document.querySelectorAll("#routes-table tbody:not(.total) tr").length === 20`)
	eval[bool](p, `(document.querySelector("[data-key='GET /03'] a.route").focus(), true)`)
	p.tell("routes", routesEvent("", turned...))
	p.wait(routeNames + `.startsWith("GET /00,") && document.querySelector("#routes-table .held").checkVisibility() && document.activeElement.closest("tr").dataset.key === "GET /03" && document.querySelector("[data-key='GET /03'] [data-cell=count]").innerText === "103"`)
	p.click("#routes-title") // takes the mouse and the focus away
	p.wait(routeNames + `.startsWith("GET /19,") && !document.querySelector("#routes-table .held").checkVisibility()`)
}
