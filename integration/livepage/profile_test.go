package livepage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// rowNames are the functions in a table, in its order.
const rowNames = `[...document.querySelectorAll("#top tbody tr")].map((r) => r.dataset.name)`

// The tabs are chosen by arrow keys. The address has the tab, and the browser goes back to the one before.
func TestProfileTabs(t *testing.T) {
	p := openRecorded(t, fmt.Sprintf("#/profile?session=%d", recorded.session), View{})
	p.wait(`document.querySelector("#flame [role=treeitem]")`)
	p.until(kb.Tab, `document.activeElement.id === "tab-flame"`)
	p.press(kb.ArrowRight)
	p.wait(`document.activeElement.id === "tab-top" && document.querySelector("#top tbody tr") && location.hash.includes("tab=top") &&
		document.querySelector("[role=tab][aria-selected=true]").id === "tab-top" && document.querySelector("[role=tabpanel]").getAttribute("aria-labelledby") === "tab-top"`)
	p.press(kb.End)
	p.wait(`document.activeElement.id === "tab-difference" && document.querySelector("#difference-with")`)
	p.press(kb.ArrowLeft)
	p.wait(`document.activeElement.id === "tab-sandwich" && document.querySelector("#sandwich-choose")`)
	p.press(kb.End + kb.ArrowRight)
	p.wait(`document.activeElement.id === "tab-flame" && document.querySelector("#flame [role=treeitem]")`)
	p.press(kb.End)
	p.wait(`document.activeElement.id === "tab-difference" && document.querySelector("#difference-with")`)
	p.press(kb.Home)
	p.wait(`document.activeElement.id === "tab-flame" && document.querySelector("#flame [role=treeitem]")`)
	p.must(p.Back())
	p.wait(`document.querySelector("[role=tab][aria-selected=true]").id === "tab-difference"`)
}

// The table is sorted by a click on a head and filtered by words, and the address has both.
func TestTopTable(t *testing.T) {
	p := openRecorded(t, fmt.Sprintf("#/profile?tab=top&session=%d", recorded.session), View{})
	p.wait(`document.querySelector("#top tbody tr")`)
	bySelf := eval[[]string](p, rowNames)
	p.click(`#top [data-sort=total]`)
	p.wait(`document.querySelector("#top [data-sort=total]").parentElement.ariaSort === "descending" && location.hash.includes("sort=total")`)
	if byTotal := eval[[]string](p, rowNames); byTotal[0] != "net/http.(*conn).serve" || byTotal[0] == bySelf[0] {
		t.Errorf("the first function by its total is %s, and by self %s", byTotal[0], bySelf[0])
	}
	p.click(`#top [data-sort=total]`)
	p.wait(`document.querySelector("#top [data-sort=total]").parentElement.ariaSort === "ascending"`)
	p.click("#top-filter")
	p.press("shop/search.go")
	p.wait(`document.querySelector("#top tr[data-name='main.addParts']") && /^\d+ of [0-9,]+ functions$/.test(document.querySelector("#top-found").innerText)`)
	for _, row := range eval[[]string](p, `[...document.querySelectorAll("#top tbody tr")].map((r) => r.querySelector("[data-column=place]").innerText + " " + r.querySelector("[data-column=module]").innerText)`) {
		if !strings.HasPrefix(row, "search.go:") || !strings.Contains(row, "github.com/perfline/perfline/examples") {
			t.Errorf("a function is at %q, want a line in search.go, and its module", row)
		}
	}
	address := eval[string](p, `location.hash`)
	again := openRecorded(t, address, View{})
	again.wait(`document.querySelector("#top-filter")?.value === "shop/search.go" && document.querySelector("#top [data-sort=total]").parentElement.ariaSort === "ascending"`)
}

// A function of the flame graph or of the table opens between its callers and its callees.
func TestSandwich(t *testing.T) {
	p := openRecorded(t, fmt.Sprintf("#/profile?session=%d", recorded.session), View{})
	p.wait(`document.querySelector("#flame [data-name='main.addParts']")`)
	p.click(`#flame [data-name='main.addParts']`)
	p.wait(`location.hash.includes("function=main.addParts") && document.querySelector("#flame-about").innerText.includes("search.go:")`)
	if about := p.text("#flame-about"); !strings.Contains(about, "github.com/perfline/perfline/examples") {
		t.Errorf("the flame graph says of the function %q, want its module", about)
	}
	p.click(`#flame-about a`)
	p.wait(`document.querySelector("#callers [data-name='main.makeIndex']") && document.querySelector("#callees [role=treeitem]")`)
	top := func(id, name string) string {
		return fmt.Sprintf(`document.querySelector("#%s [data-name='%s']").getBoundingClientRect().top`, id, name)
	}
	if !eval[bool](p, top("callers", "main.makeIndex")+" < "+top("callers", "main.addParts")+" && "+top("callers", "main.addParts")+" < "+top("callees", "main.addParts")) {
		t.Error("the callers are not above the function, and the callees not below")
	}
	// In the callers, up is the caller.
	p.until(kb.Tab, `document.activeElement.matches("#callers [role=treeitem]")`)
	p.press(kb.ArrowUp)
	p.wait(`document.activeElement.dataset.name === "main.makeIndex"`)
	p.press(kb.ArrowDown)
	p.wait(`document.activeElement.dataset.name === "main.addParts"`)
	p.press(kb.ArrowUp)
	p.click(`#callers-about a`)
	p.wait(`document.querySelector("#sandwich-about").innerText.startsWith("main.makeIndex")`)
	p.click("#other-function")
	p.wait(`document.querySelector("#sandwich-choose") && document.querySelector("#top tbody a")`)
	p.click("#top tbody a")
	p.wait(`document.querySelector("#sandwich-about")`)
}

// A route is compared with its session, and the sides are exchanged. The filter stays.
func TestDifference(t *testing.T) {
	p := openRecorded(t, "#/profile", View{})
	link := `[...document.querySelectorAll("#profiles a")].find((a) => a.innerText === "GET /search" && a.hash.includes("session=` + fmt.Sprint(recorded.session) + `&"))`
	p.wait(link)
	p.show(eval[string](p, link+`.hash`))
	p.wait(`document.querySelector("#flame [role=treeitem]")`)
	p.click("#tab-difference")
	whole := fmt.Sprintf("session=%d", recorded.session)
	p.wait(`document.querySelector("#difference-with option[value='` + whole + `']")`)
	eval[bool](p, `(() => { const s = document.querySelector("#difference-with"); s.value = "`+whole+`"; s.dispatchEvent(new Event("change")); return true })()`)
	p.wait(`document.querySelector("#changes tbody tr") && document.querySelector("#flame [data-name='main.addParts']")`)
	p.click("#changes-filter")
	p.press("addParts")
	p.wait(`document.querySelector("#changes tr[data-name='main.addParts']")`)
	// Only this route makes the index: a request of it takes more of that than a request of all.
	if class := eval[string](p, `document.querySelector("#flame [data-name='main.addParts']").className`); !strings.Contains(class, "more") {
		t.Errorf("the index is %q in the picture, want more", class)
	}
	change := `document.querySelector("#changes tr[data-name='main.addParts'] [data-column=total]").innerText`
	if got := eval[string](p, change); !strings.HasPrefix(got, "+") {
		t.Errorf("the change of the index is %q, want more", got)
	}
	p.click("#swap")
	p.wait(`document.querySelector("h1").innerText === "Profile of session ` + fmt.Sprint(recorded.session) + `" && document.querySelector("#changes-filter")?.value === "addParts"`)
	p.wait(`document.querySelector("#changes tr[data-name='main.addParts']") && ` + change + `.startsWith("−")`)
	if class := eval[string](p, `document.querySelector("#flame [data-name='main.addParts']").className`); !strings.Contains(class, "less") {
		t.Errorf("with the sides exchanged the index is %q in the picture, want less", class)
	}
}

// More functions than a table begins with come by a button, and the focus is on the first of them.
func TestManyFunctions(t *testing.T) {
	p := madeUp(t)
	eval[bool](p, `(async () => {
		const { profilePage } = await import(location.pathname + "page/profile.js");
		const main = document.getElementById("main");
		main.replaceChildren();
		const functions = Array.from({ length: 450 }, (_, i) => ({ name: "f" + i, self: 1000 - i, total: 1000 - i }));
		answers.functions = () => ({ title: "session 1", session: 1, samples: 450, total: 1e5, interval: 10, engine: "cpu", functions, cut: 3, cutSelf: 1 });
		profilePage({ main, latest: {}, query: new URLSearchParams("session=1&tab=top"), title() {} });
		return true;
	})()`)
	const rows = `document.querySelectorAll("#top tbody tr").length`
	p.wait(rows + ` === 200 && document.querySelector("#top-found").innerText === "450 functions" && document.querySelector("#panel").innerText.includes("Not listed: 3 functions")`)
	p.click("#top-more")
	p.wait(rows + ` === 400 && document.activeElement.title === "f200"`)
	p.click("#top-more")
	p.wait(rows + ` === 450 && document.activeElement.title === "f400" && !document.querySelector("#top-more").checkVisibility()`)
	p.click("#top-filter")
	p.press("f44")
	p.wait(rows + ` === 11 && document.querySelector("#top-found").innerText === "11 of 450 functions"`)
}

// The profile of a session with waiting goroutines is shown without them by a link, and with them again.
func TestProfileWithoutWaits(t *testing.T) {
	p := madeUp(t)
	link := func(query string) string {
		return eval[string](p, `(async () => {
			const { profilePage } = await import(location.pathname + "page/profile.js");
			const main = document.getElementById("main");
			main.replaceChildren();
			answers.flame = () => ({ title: "session 1", session: 1, samples: 0, total: 0, interval: 10, engine: "wall", functions: [], nodes: [] });
			profilePage({ main, latest: {}, query: new URLSearchParams("`+query+`"), title() {} });
			while (!document.querySelector("#waiting")) await new Promise((done) => setTimeout(done));
			const { textContent, hash } = document.querySelector("#waiting");
			return textContent + " " + hash;
		})()`)
	}
	if got := link("session=1"); got != "Without what waits #/profile?session=1&running=1" {
		t.Errorf("of a profile with waits, the link is %q", got)
	}
	if got := link("session=1&running=1"); got != "With what waits #/profile?session=1" {
		t.Errorf("of a profile without waits, the link is %q", got)
	}
}

// A session shows before its start which data it will have. While it goes on it shows how long it
// goes on, and then its cost.
func TestSessionWithLength(t *testing.T) {
	r := startReplay(t)
	p := open(t, r.page+"#/sessions", View{})
	p.wait(`document.querySelector("#content-list")?.checkVisibility() && document.querySelector("#start:enabled")`)
	has := func(text string) string {
		return fmt.Sprintf(`document.querySelector("#content-list").innerText.includes(%q)`, text)
	}
	p.wait(has("after 10 s") + " && " + has("Samples of the code that runs") + " && !" + has("two garbage collections"))
	p.click("#samples-none")
	p.wait(has("no profiles") + " && !" + has("Samples of the code that runs"))
	p.click("#samples-cpu")
	p.click("#process")
	p.wait(has("two garbage collections"))
	p.click("#process")
	p.click("#length")
	const service = "rpc/perfline.profiler.v1.ProfilerService/"
	r.answer(Key(http.MethodPost, service+"StartProfiler", `{"startMode":"START_MODE_IMMEDIATE","wall":false,"noSamples":false,"process":false,"length":2000}`), `{"sessionID":2}`)
	p.press(kb.Backspace + kb.Backspace + "2" + kb.Enter)
	p.wait(`!document.querySelector("#start").ariaBusy`)

	session := func(state string, length float64) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"sessions":[{"id":2,"state":%q,"start":1700000000000,"length":%g,"limit":2000,"progress":1,"sampler":"cpu","entries":1234,"samples":5,"cost":20}],"leaks":false,"modules":["main"]}`, state, length))
	}
	r.tell("sessions", session("recording", 500))
	p.wait(newest + `?.querySelector(".state").innerText === "recording"`)
	p.wait(newest + `.querySelector("progress").value === 0.25 && ` + newest + `.querySelector("[data-cell=length]").innerText === "500 ms of 2.00 s"`)
	p.wait(newest + `.querySelector("[data-cell=entries]").innerText === "1,234" && document.querySelector("#nav-sessions").innerText === "1 under way"`)
	r.tell("sessions", session("ready", 2000))
	p.wait(newest + `.querySelector(".state").innerText === "ready" && ` + newest + `.querySelector("progress").hidden`)
	r.answer(Key(http.MethodPost, service+"GetSession", `{"sessionID":2}`), `{"sessionID":2}`)
	r.answer(Key(http.MethodGet, "data/v1/sessions/2", ""), `{"id":2,"timelines":0,"requests":0,"samples":0,"routes":[],"cut":0,"files":[]}`)
	p.show("#/sessions/2")
	p.wait(`document.querySelector("#session-facts").innerText.endsWith("20.0 ms of CPU for recording, 1.0 % of a core") && document.querySelector("#timelines")`)
}
