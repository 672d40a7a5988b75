package livepage

import "testing"

// A page ignores answers to requests from before it was paused or hidden. At most one stream is
// open. A paused page has neither a stream nor a timer.
func TestStreamTurns(t *testing.T) {
	p := madeUp(t) // whose own stream is paused
	got := eval[[]string](p, `(async () => {
		const later = window.setTimeout;
		const settle = async () => { for (let i = 0; i < 20; i++) await new Promise((done) => later(done)); };
		const timers = new Map(), sources = [], asked = [];
		let hidden = false, n = 0;
		window.setTimeout = (f) => (timers.set(++n, f), n);
		window.clearTimeout = (id) => timers.delete(id);
		Object.defineProperty(document, "hidden", { get: () => hidden });
		window.fetch = () => new Promise((done, fail) => asked.push({ ok: () => done(new Response("{}")), fail: () => fail(new Error("down")) }));
		window.EventSource = class extends EventTarget {
			static CLOSED = 2;
			constructor() { super(); sources.push(this); this.readyState = 0; }
			close() { this.readyState = 2; }
			open() { this.readyState = 1; this.onopen(); }
			refuse() { this.readyState = 2; this.onerror(); }
		};
		const see = (on) => { hidden = !on; document.dispatchEvent(new Event("visibilitychange")); };
		const { stream } = await import(location.pathname + "page/stream.js");
		const said = [];
		const state = () => said.at(-1) + ", " + sources.filter((s) => s.readyState < 2).length + " open, " + timers.size + " timers, asked " + asked.length;
		const s = stream(() => {}, (text) => said.push(text));
		const out = [];

		sources.at(-1).refuse();
		s.pause(true);
		asked.at(-1).fail();
		await settle();
		out.push("paused: " + state());

		s.pause(false);
		sources.at(-1).refuse();
		see(false);
		asked.at(-1).fail();
		await settle();
		out.push("hidden: " + state());

		see(true);
		sources.at(-1).refuse();
		see(false);
		see(true);
		sources.at(-1).open();
		asked.at(-1).ok();
		await settle();
		out.push("seen again: " + state());

		sources.at(-1).refuse();
		asked.at(-1).ok();
		await settle();
		out.push("polling: " + state());
		s.pause(true);
		out.push("paused: " + state());
		return out;
	})()`)
	for i, want := range []string{
		"paused: paused, 0 open, 0 timers, asked 1",
		"hidden: connecting, 0 open, 0 timers, asked 2",
		"seen again: live, 1 open, 0 timers, asked 3",
		"polling: polling, 0 open, 1 timers, asked 4",
		"paused: paused, 0 open, 0 timers, asked 4",
	} {
		if got[i] != want {
			t.Errorf("%q, want %q", got[i], want)
		}
	}
}
