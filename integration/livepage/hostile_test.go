package livepage

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
)

// hostile are texts that are something else to who does not take care.
var hostile = []struct{ name, text string }{
	{"markup", `</td></tr><img src=x onerror="hacked=1"><script>hacked=1</script><svg/onload=hacked=1>`},
	{"quotes", `" onfocus="hacked=1" autofocus x="'` + "`${hacked=1}`" + `&quot;&#34;\`},
	{"address", `javascript:hacked=1`},
	{"direction", "safe\u202e\u2066txt.exe\u2069 \u05d0\u05d1"},
	{"control", "a\x00b\x1b[31mc\r\nd\u2028e\u200bf\xff"},
	{"blank", "a\u3164b\u2800c\ufe0fd\u034fe\U000e0100f\u00a0g\u3000h\U0001d159i\u115fj\u180bk"},
	{"long", strings.Repeat("x", 100_000)},
	{"wide", strings.Repeat("𝔘 ", 500)},
}

func texts() (all []string) {
	for _, c := range hostile {
		all = append(all, c.text)
	}
	return all
}

// blank has the characters of hostile that count as printable.
const blank = "\u3164\u2800\ufe0f\u034f\U000e0100\U0001d159\u115f\u180b"

// Text from outside is shown as text, what cannot be seen of it as codes, and cut: wherever
// it is, in any view.
func TestHostileText(t *testing.T) {
	text := func(r *http.Request) string {
		i := slices.IndexFunc(hostile, func(c struct{ name, text string }) bool { return c.name == r.URL.Query().Get("case") })
		return hostile[i].text
	}
	base, page := serve(t, bridgehttp.Server{SpanName: func(r *http.Request, _ string) string { return text(r) }}, func(_ http.ResponseWriter, r *http.Request) {
		text := text(r)
		trace.SpanFromContext(r.Context()).SetStatus(codes.Error, text)
		ctx, m := marks.Start(r.Context(), text, slog.String(text, text))
		defer m.End()
		marks.Mark(ctx, text, slog.String(text, text))
	}, sessions.Config{Policy: profiling.Policy{Remote: true}})
	p := open(t, page, View{Width: 1000, Height: 700})
	p.wait(`document.querySelector("#stream-state").textContent === "live"`)
	p.show("#/sessions")
	p.wait(`document.querySelector("#start:enabled")?.checkVisibility()`)
	p.click("#start")
	p.wait(`document.querySelector("#sessions .state")?.innerText === "recording"`)
	for _, c := range hostile {
		request(t, base+"/?case="+c.name)
	}
	p.click("#sessions [data-act=stop]")
	p.wait(`document.querySelector("#sessions .state").innerText === "ready"`)
	p.harmless("sessions")

	p.show("#/")
	p.wait(fmt.Sprintf(`document.querySelectorAll("#recent tbody tr").length >= %d`, len(hostile)))
	p.click("#pause")
	p.harmless("overview")
	names := eval[[]string](p, `[...document.querySelectorAll("#recent tbody a")].map((a) => a.textContent).reverse()`)
	links := eval[[]string](p, `[...document.querySelectorAll("#recent tbody a")].map((a) => a.getAttribute("href")).reverse()`)
	raw, err := json.Marshal(texts())
	p.must(err)
	if made := eval[[]string](p, `import(location.pathname + "page/format.js").then(({ shown }) => `+string(raw)+`.map((text) => shown(text)))`); !slices.Equal(made, names) {
		t.Errorf("scripts show\n%.300q\nwant as the server does\n%.300q", made, names)
	}
	for i, c := range hostile {
		if want := asShown(c.text); names[i] != want {
			t.Errorf("%s: the list shows\n%.300q\nwant\n%.300q", c.name, names[i], want)
		}
		p.show(links[i])
		p.wait(`document.querySelector("#waterfall tr.mark") && document.querySelector("h1").innerText && document.querySelector("#ran p, #ran .flames")`)
		p.click("#waterfall tr.mark .pick")
		p.harmless(c.name)
		if text := eval[string](p, `document.querySelector("#details h2 bdi").textContent`); text != asShown(c.text) {
			t.Errorf("%s: the mark's details show\n%.300q\nwant\n%.300q", c.name, text, asShown(c.text))
		}
	}

	for i, c := range hostile {
		p.show("#/compare?a=" + strings.TrimPrefix(links[i], "#/requests/") + "&b=" + strings.TrimPrefix(links[(i+1)%len(links)], "#/requests/"))
		p.wait(fmt.Sprintf(`document.querySelector("#both tbody tr") && document.querySelector("#sides a")?.hash === %q`, links[i]))
		p.harmless("comparison of " + c.name)
	}

	p.show("#/sessions/1")
	p.wait(fmt.Sprintf(`document.querySelectorAll("#timelines tr[data-timeline]").length >= %d`, len(hostile)))
	for i := range eval[int](p, `document.querySelectorAll("#timelines tr[data-timeline]").length`) {
		eval[bool](p, fmt.Sprintf(`(document.querySelectorAll("#timelines tr[data-timeline] .twist")[%d].click(), true)`, i))
	}
	p.wait(`![...document.querySelectorAll("#timelines td")].some((td) => td.textContent === "Loading…")`)
	p.harmless("session")
	eval[bool](p, `(document.querySelectorAll("#timelines .inside [role=group] button:nth-child(2)").forEach((b) => b.click()), true)`)
	p.wait(`document.querySelector("table.summary tbody th") && ![...document.querySelectorAll("#timelines td")].some((td) => td.textContent === "Loading…")`)
	p.harmless("events summed up")

	// An address is text of clients, too.
	for _, c := range hostile[:5] {
		q := eval[string](p, fmt.Sprintf(`String(new URLSearchParams({ text: %q, route: %[1]q, sort: %[1]q, window: %[1]q, attribute: "x" + %[1]q, session: %[1]q, timeline: %[1]q }))`, strings.ToValidUTF8(c.text, "")))
		for _, path := range []string{"#/?", "#/sessions?"} {
			p.show(path + q)
			p.wait(`document.querySelector("input")`)
			p.harmless(path + c.name)
		}
	}
}

// harmless checks the shown page. No script of the text ran, and no element came from the text. Nothing is wider
// than the page, and it has no invisible characters.
func (p tab) harmless(where string) {
	p.t.Helper()
	if eval[bool](p, `"hacked" in window`) {
		p.t.Fatalf("%s: a script came to run", where)
	}
	if alien := eval[[]string](p, `[...document.querySelectorAll("main :is(script, img, svg, iframe, object, [onfocus], [onerror], [onload], [autofocus]), a[href^='javascript:' i]")].map((n) => n.outerHTML.slice(0, 200))`); len(alien) > 0 {
		p.t.Errorf("%s: text became elements: %q", where, alien)
	}
	if hidden := eval[[]string](p, `[...document.querySelectorAll("main *")].flatMap((n) => [n.title, n.getAttribute("aria-label"), ...[...n.childNodes].filter((c) => c.nodeType === 3).map((c) => c.data)])
		.filter((text) => text && (/[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u00a0\u034f\u115f\u2800\u3000\u3164\ufe0f\u200b\u202a-\u202e\u2066-\u2069]/.test(text) || text.length > 5000)).map((text) => text.slice(0, 200))`); len(hidden) > 0 {
		p.t.Errorf("%s: neither codes nor cut: %q", where, hidden)
	}
	if over := eval[float64](p, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
		p.t.Errorf("%s: the page is %g pixels too wide", where, over)
	}
}

// asShown is how the page shows a text from outside as a name: what cannot be seen as codes, 200
// characters of it.
func asShown(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n == 200 {
			b.WriteRune('…')
			break
		}
		n++
		if unicode.IsPrint(r) && r != utf8.RuneError && !strings.ContainsRune(blank, r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
