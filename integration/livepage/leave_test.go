package livepage

import "testing"

// A filter that was typed into a moment before the reader follows a link does not change the address that the link has, of the same view or of another.
func TestLeaveWhileFiltering(t *testing.T) {
	for _, to := range []string{"#/?status=error", "#/counters"} {
		p := open(t, manyRequests(t), View{})
		p.wait(`document.querySelectorAll("#recent tbody tr").length === 26`)
		hash := eval[string](p, `new Promise((done) => {
			const input = document.querySelector("#filter-text");
			input.value = "rare";
			input.dispatchEvent(new Event("input", { bubbles: true }));
			addEventListener("hashchange", () => setTimeout(() => done(location.hash), 200), { once: true }); // comes after the timer of the filter
			location.hash = `+quoted(to)+`;
		})`)
		if hash != to {
			t.Errorf("the address is %s, want %s", hash, to)
		}
	}
}

// A profile that arrives after the reader has left does not change the title of the next view.
func TestLeaveProfileWhileLoading(t *testing.T) {
	p := madeUp(t)
	title := eval[string](p, `(async () => {
		const { profilePage } = await import(location.pathname + "page/profile.js");
		const main = document.getElementById("main");
		main.replaceChildren();
		const about = Promise.withResolvers();
		answers.functions = () => ({ title: "the last minute", samples: 1, total: 1, interval: 1, engine: "cpu", functions: [] });
		answers["1"] = () => about.promise;
		document.title = "next view";
		const view = profilePage({ main, latest: { sessions: { sessions: [{ id: 1, state: "ready", start: 1, samples: 1 }] } },
			query: new URLSearchParams("last=minute&tab=difference"), title(text) { document.title = text; } });
		while (calls.length < 2) await new Promise((done) => setTimeout(done));
		view.leave();
		about.resolve({ routes: [] });
		for (let i = 0; i < 20; i++) await new Promise((done) => setTimeout(done));
		return document.title;
	})()`)
	if title != "next view" {
		t.Errorf("the title of the next view is %q", title)
	}
}

// A change of the address that is due when the reader follows a link does not bring the old address back. The link leads to another part of
// the same view, or to another view. It is followed in a task that comes before timers, as clicks do.
func TestLeaveWhileNoting(t *testing.T) {
	check := func(p tab, act, to string) {
		t.Helper()
		if hash := eval[string](p, `new Promise((done) => {`+act+`
			scheduler.postTask(() => { location.hash = `+quoted(to)+`; }, { priority: "user-blocking" });
			for (const until = performance.now() + 300; performance.now() < until;); // the timer is due
			setTimeout(() => done(location.hash), 200);
		})`); hash != to {
			t.Errorf("the address is %s, want %s", hash, to)
		}
	}
	const (
		choose = `document.querySelector('#waterfall .pick[title="render"]').click();`
		filter = `
			const input = document.querySelector("#filter-text");
			input.value = "rare";
			input.dispatchEvent(new Event("input", { bubbles: true }));`
		atCounters = `document.querySelector("h1")?.innerText === "Counters"`
	)
	p := openBusy(t, "")
	check(p, choose, eval[string](p, `location.hash.split("?")[0]`)+"?from=20&to=40")
	p.part(20, 40)
	check(p, choose, "#/counters")
	p.wait(atCounters)

	p = open(t, manyRequests(t), View{})
	p.wait(`document.querySelectorAll("#recent tbody tr").length === 26`)
	check(p, filter, "#/?status=error")
	p.wait(found + ` === "GET /fail,GET /fail,GET /fail" && document.querySelector("#filter-text").value === ""`)
	check(p, filter, "#/counters")
	p.wait(atCounters)
}
