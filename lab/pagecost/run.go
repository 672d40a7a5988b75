package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/livepage"
	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/internal/document"
	"github.com/perfline/perfline/lab/internal/figures"
)

// routes are the paths that the load asks for, and their shares of it.
var routes = []struct {
	path  string
	share float64
}{
	{"/products/7", 0.95},
	{"/?page=3", 0.045},
	{"/search?q=number+7", 0.005},
}

// A bench is the shop under a load, and the page on it.
type bench struct {
	shop    *livepage.Shop
	browser *livepage.Browser
	page    *livepage.Page // nil while it is closed
	loads   []*load.Load
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	b := &bench{}
	if b.shop, err = livepage.StartShop(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.shop.Stop()) }()
	if b.browser, err = livepage.StartBrowser(ctx); err != nil {
		return err
	}
	defer b.browser.Close()
	var text bytes.Buffer
	w := io.MultiWriter(out, &text)
	fmt.Fprintf(w, "%s. %.0f requests a second.\n\n", document.Machine(), o.rate)
	for _, r := range routes {
		b.loads = append(b.loads, load.Requests(ctx, b.shop.URL+r.path, o.rate*r.share))
	}
	defer b.stop() // after an error
	if err := b.memory(ctx, o, w); err != nil {
		return err
	}
	if err := b.turns(ctx, o, w); err != nil {
		return err
	}
	b.stop()
	if err := b.flat(ctx, o, w); err != nil {
		return err
	}
	if o.into != "" {
		return document.Write(o.into, document.Part{Name: marker, Text: text.String()})
	}
	return nil
}

// stop ends the loads.
func (b *bench) stop() {
	for _, l := range b.loads {
		l.Stop()
	}
}

// answered returns how many requests were answered since the last call. It fails if one was not.
func (b *bench) answered() (n int, err error) {
	for _, l := range b.loads {
		r := l.Take()
		n += r.Answered
		err = errors.Join(err, r.Err())
	}
	return n, err
}

// open opens the page, and waits until it shows data.
func (b *bench) open() (err error) {
	if b.page, err = b.browser.Open(b.shop.Page, livepage.View{}); err != nil {
		return err
	}
	return b.page.Wait(`document.querySelector("#stream-state").textContent === "live" && document.querySelector("main tbody tr")`)
}

// shut closes the page. It fails if the page did something wrong.
func (b *bench) shut() error {
	faults := b.page.Faults()
	b.page.Close()
	b.page = nil
	if len(faults) > 0 {
		return fmt.Errorf("the page did wrong: %q", faults)
	}
	return nil
}

// pause waits, and returns early with an error if ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turns compares the CPU time of the shop with the page open and closed, in turns.
func (b *bench) turns(ctx context.Context, o options, w io.Writer) error {
	var differences, closed []float64
	for range o.turns {
		without, err := b.share(ctx, o)
		if err != nil {
			return err
		}
		if err := b.open(); err != nil {
			return err
		}
		with, err := b.share(ctx, o)
		if err := errors.Join(err, b.shut()); err != nil {
			return err
		}
		differences, closed = append(differences, with-without), append(closed, without)
	}
	d, low, high := middle(differences)
	c, _, _ := middle(closed)
	fmt.Fprintf(w, "| CPU time of the shop | %% of a core |\n|---|---:|\n| page closed | %.1f |\n| added by an open page: median, and the middle half of %d turns | %.1f (%.1f … %.1f) |\n\n",
		c, len(differences), d, low, high)
	const most = 2.0
	met := d <= most
	return figures.Add(o.figures, "CPU time that an open page adds to the shop, % of a core",
		fmt.Sprintf("≤ %.0f", most), fmt.Sprintf("%.1f (%.1f … %.1f)", d, low, high), &met)
}

// share returns the CPU time that the shop uses, in percent of a core.
func (b *bench) share(ctx context.Context, o options) (float64, error) {
	if err := pause(ctx, o.settle); err != nil {
		return 0, err
	}
	began := time.Now()
	before, err := backend.ProcessCPU(b.shop.PID())
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, o.turn); err != nil {
		return 0, err
	}
	after, err := backend.ProcessCPU(b.shop.PID())
	if err != nil {
		return 0, err
	}
	if _, err := b.answered(); err != nil {
		return 0, err
	}
	return 100 * float64(after-before) / float64(time.Since(began)), nil
}

// flat sends requests as fast as they are answered while the page is open.
func (b *bench) flat(ctx context.Context, o options, w io.Writer) error {
	if err := b.open(); err != nil {
		return err
	}
	const underWay = 64
	began := time.Now()
	done, cancel := context.WithTimeout(ctx, o.flat)
	defer cancel()
	answered, err := flatOut(done, b.shop.URL+routes[0].path, underWay)
	if err != nil {
		return err
	}
	rate := float64(answered) / time.Since(began).Seconds()
	// The page is alive if it shows a request that came after all of them.
	last := time.Now()
	if err := b.shop.Send(ctx, livepage.Call{Method: "GET", Path: "/products/8"}); err != nil {
		return err
	}
	if err := b.page.Wait(
		fmt.Sprintf(`document.querySelector("#stream-state").textContent === "live" && Date.parse(document.querySelector("#recent time").dateTime) >= %d`, last.UnixMilli())); err != nil {
		return err
	}
	if err := figures.Add(o.figures, "highest rate with the page open, requests/s", "",
		fmt.Sprintf("%.0f", math.Floor(rate)), nil); err != nil {
		return err
	}
	fmt.Fprintf(w, "The highest rate, with the page open and %d clients: %.0f requests a second. Afterwards the page was live and without a fault.\n", underWay, math.Floor(rate))
	return b.shut()
}
