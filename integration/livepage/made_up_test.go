package livepage

import (
	"fmt"
	"testing"
)

// madeUp opens a page that gets no more from the program. The functions of answers answer it,
// by procedure or by the last element of the path. An exception is an error's text. calls has
// the requested procedures and arguments. Timers of a second or more are due when tick is called.
func madeUp(t *testing.T) tab {
	t.Helper()
	p := openRecorded(t, "#/counters", View{})
	p.wait(`document.querySelector("#stream-state").textContent === "live" && document.querySelector(".counters table")`)
	p.click("#pause")
	eval[bool](p, `(() => {
		const { setTimeout, clearTimeout } = window;
		const slow = new Map();
		let last = 1e9;
		window.setTimeout = (f, ms, ...more) => (ms >= 1000 ? slow.set(++last, f) && last : setTimeout(f, ms, ...more));
		window.clearTimeout = (id) => slow.delete(id) || clearTimeout(id);
		window.tick = () => {
			const due = [...slow.values()];
			slow.clear();
			due.forEach((f) => f());
			return due.length;
		};
		window.calls = [];
		window.answers = {};
		window.fetch = async (path, options) => {
			const name = String(path).split("?")[0].split("/").at(-1);
			const argument = options?.body ? JSON.parse(options.body) : null;
			calls.push([name, argument]);
			try {
				return new Response(JSON.stringify(await answers[name](argument)));
			} catch (error) {
				return new Response(JSON.stringify({ message: error.message, error: error.message }), { status: 503 });
			}
		};
		return true;
	})()`)
	return p
}

// view shows a view of a module with made-up data, which tell changes.
func (p tab) view(module, name, parts, latest string) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`(async () => {
		const module = await import(location.pathname + "page/" + %q);
		window.latest = %s;
		const main = document.getElementById("main");
		main.replaceChildren();
		window.view = module[%q]({ main, latest, parts: %s, query: new URLSearchParams(), title(text) { document.title = text; } });
		return true;
	})()`, module, latest, name, parts))
}

// tell tells the view of new data.
func (p tab) tell(kind, data string) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`(latest[%q] = %s, view.update(%[1]q), true)`, kind, data))
}

// tick waits until the page has set n timers of a second or more, and lets them be due.
func (p tab) tick(n int) {
	p.t.Helper()
	for range n {
		p.wait(`tick() > 0`)
		p.settle()
	}
}

// settle lets the page do what it has to do by now.
func (p tab) settle() {
	p.t.Helper()
	eval[bool](p, `(async () => { for (let i = 0; i < 20; i++) await new Promise((done) => setTimeout(done)); return true })()`)
}
