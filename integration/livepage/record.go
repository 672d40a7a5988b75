package livepage

import (
	"context"
	"fmt"

	"github.com/perfline/perfline/integration/backend"
)

// newest selects the newest session's row in the list of all.
const newest = `document.querySelector("#sessions tbody tr")`

func cell(name string) string {
	return newest + `?.querySelector("[data-cell=` + name + `]").textContent`
}

// StartSession starts a session by the page's form, with a sample of each millisecond of
// computing time, or of as many as the system's clock has.
func (p *Page) StartSession() error {
	before := 0
	return steps("starting a session",
		func() error { return p.Go("#/sessions") },
		func() error {
			return p.Wait(
				`document.querySelector("#start:enabled")?.checkVisibility()`)
		},
		func() (err error) {
			before, err = Eval[int](p, `Number(`+newest+`?.dataset.session ?? 0)`)
			return err
		},
		func() error { // StopSession ends it
			_, err := Eval[bool](p,
				`(() => { document.querySelector("#length").value = ""; return true })()`)
			return err
		},
		func() error { return p.Click("#interval") },
		func() error { return p.Press("1") },
		func() error { return p.Click("#start") },
		func() error {
			return p.Wait(
				fmt.Sprintf(`Number(%s?.dataset.session) > %d`, newest, before))
		},
		func() error { return p.Wait(cell("state") + `.includes("recording")`) },
	)
}

// StopSession stops the last started session when it has enough samples, and opens its page. The
// program must have work.
func (p *Page) StopSession(samples int) (id int, err error) {
	err = steps("stopping a session",
		func() error {
			return p.Wait(fmt.Sprintf(`Number(%s.replaceAll(",", "")) >= %d`, cell("samples"),
				samples))
		},
		func() error { return p.Click(`#sessions tbody tr [data-act=stop]`) },
		func() error { return p.Wait(cell("state") + `.includes("ready")`) },
		func() error { return p.Click(`#sessions tbody tr a`) },
		func() error { return p.Wait(`document.querySelector("#timelines tbody tr")`) },
	)
	if err != nil {
		return 0, err
	}
	return Eval[int](p, `Number(location.hash.split("/").at(-1))`)
}

// steps does one thing after the other.
func steps(what string, all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// Sampled returns the address of the kept slow request with most samples of the newest session. It
// prefers requests in which no sample stands for more time than its span took.
func (p *Page) Sampled() (string, error) {
	return Eval[string](p, `(async () => {
		const get = async (path) => (await fetch("data/v1/" + path)).json();
		let best = -Infinity, address = "";
		for (const { trace, span } of (await get("overview")).requests.slowest) {
			const { session, rows } = await get("requests/" + trace + "/" + span);
			if (!session) continue;
			const sampled = rows.reduce((sum, r) => sum + (r.sampled ?? 0), 0);
			const score = rows.some((r) => r.sampled > r.took) ? -1 / sampled : sampled;
			if (score > best) [best, address] = [score, "#/requests/" + trace + "/" + span];
		}
		if (!address) throw new Error("no session has samples of the slowest requests");
		return address;
	})()`)
}

// Explained waits for a slow request of which the flight recorder knows what it waited for, and
// returns its address. The recorder must be armed, and the program must have work.
func (p *Page) Explained() (string, error) {
	const find = `(async () => {
		const get = async (path) => (await fetch("data/v1/" + path)).json();
		for (const { trace, span } of (await get("overview")).requests.kept) {
			if ((await get("requests/" + trace + "/" + span)).waits) return "#/requests/" + trace + "/" + span;
		}
		return "";
	})()`
	var address string
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	err := backend.Poll(ctx, func() (bool, error) {
		var err error
		address, err = Eval[string](p, find)
		return address != "", err
	})
	if err != nil {
		return "", fmt.Errorf("waiting for a slow request with states: %w", err)
	}
	return address, nil
}
