package livepage

import (
	"fmt"
	"testing"
)

// The page lists the newest and the slowest requests. The lists follow the program until they are
// paused.
func TestOverview(t *testing.T) {
	p := open(t, shop.Page, View{})
	p.wait(`document.querySelector("#stream-state").textContent === "live"`)
	const newest = `document.querySelector("#recent tbody tr")?.dataset.trace`
	for _, r := range []struct {
		call         Call
		name, status string
	}{
		{Call{"GET", "/products/7", ""}, "GET /products/{id}", "200"},
		{Call{"POST", "/orders", `{"product":7,"quantity":2}`}, "POST /orders", "201"},
	} {
		before := eval[string](p, newest+` ?? ""`)
		if err := shop.Send(t.Context(), r.call); err != nil {
			t.Fatal(err)
		}
		p.wait(fmt.Sprintf(`%s !== undefined && %s !== %q`, newest, newest, before))
		// Its calls' servers are part of this program, so that the newest root is the request itself.
		p.wait(fmt.Sprintf(`document.querySelector("#recent tbody tr").innerText.startsWith(%q)`, r.name+"\t"+r.status))
	}

	underLoad(t)
	p.wait(`document.querySelectorAll("#recent tbody tr").length >= 20 && document.querySelectorAll("#routes tbody tr").length >= 4`)
	slowest := eval[[]float64](p, `(() => {
		const ms = { s: 1000, ms: 1, "µs": 0.001 };
		return [...document.querySelectorAll("#slowest tbody .took")].map((td) => { const [n, unit] = td.innerText.split(" "); return n * ms[unit]; });
	})()`)
	for i := range slowest {
		if i > 0 && slowest[i] > slowest[i-1] {
			t.Errorf("the slowest take %v ms: want the slowest first", slowest)
			break
		}
	}

	p.click("#pause")
	p.wait(`document.querySelector("#stream-state").textContent === "paused"`)
	paused := eval[string](p, newest)
	if err := shop.Send(t.Context(), Call{"GET", "/products/9", ""}); err != nil {
		t.Fatal(err)
	}
	p.click("#filter-text")
	p.press("POST /ORDERS")
	p.wait(`location.hash === "#/?text=POST+%2FORDERS" && document.querySelectorAll("#matches tbody tr").length > 3 && !document.querySelector("#recent").checkVisibility()`)
	p.click("#filter-clear")
	p.wait(`location.hash === "#/" && document.querySelectorAll("#recent tbody tr").length >= 20 && document.activeElement.id === "filter-text" && document.querySelector("#recent").checkVisibility()`)
	// By now the page would have been told of others.
	eval[bool](p, `new Promise((done) => {
		const stream = new EventSource("data/v1/stream");
		let told = 0;
		stream.addEventListener("requests", () => {
			if (++told < 3) return;
			stream.close();
			done(true);
		});
	})`)
	if now := eval[string](p, newest); now != paused {
		t.Errorf("the newest request is %s, and was %s when the page was paused", now, paused)
	}
	p.click("#pause")
	p.wait(newest + ` !== "` + paused + `"`)
}
