// Command pictures makes the documents' pictures of the live page. It runs the shop under load,
// records sessions of it, and takes a light and a dark picture of each view with a browser:
//
//	go run -C lab ./pictures -dir ../docs/page
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/perfline/perfline/integration/livepage"
)

func main() {
	dir := flag.String("dir", ".",
		"folder for the pictures: NAME-light.png and NAME-dark.png of each view")
	only := flag.String("only", "", "name of the one view to take pictures of; empty means all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *dir, *only)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, only string) (err error) {
	chrome, err := livepage.StartBrowser(ctx)
	if err != nil {
		return err
	}
	defer chrome.Close()
	if only == "" || only == deaths.name {
		if err := takeDeaths(ctx, chrome, dir); err != nil || only != "" {
			return err
		}
	}
	shop, err := livepage.StartShop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Stop()) }()
	// a page at a time: a hidden one is not updated
	onPage := func(do func(p *livepage.Page) error) error {
		p, err := chrome.Open(shop.Page, livepage.View{})
		if err != nil {
			return err
		}
		defer p.Close()
		return do(p)
	}
	at := addresses{}
	take := func(step step) error {
		for _, s := range subjects(at) {
			if s.step != step || only != "" && s.name != only {
				continue
			}
			if err := s.take(ctx, chrome, shop, dir); err != nil {
				return err
			}
		}
		return nil
	}

	// A session of calls that compute: the slowest of all then has samples.
	err = onPage(func(p *livepage.Page) error {
		if _, err := record(ctx, shop, p, livepage.Reading, 300); err != nil {
			return err
		}
		at.sampled, err = p.Sampled()
		return err
	})
	if err := errors.Join(err, take(withSamples)); err != nil {
		return err
	}
	err = onPage(func(p *livepage.Page) error {
		if at.session, err = record(ctx, shop, p, livepage.Everything, 600); err != nil {
			return err
		}
		if at.route, err = livepage.Eval[string](p, routeLink); err != nil {
			return err
		}
		// The waits recorder learns what slow orders waited for.
		if err := errors.Join(p.Go("#/waits"), p.Click("#arm"),
			p.Wait(`document.querySelector("#disarm:enabled")`)); err != nil {
			return err
		}
		stop := shop.Load(ctx, livepage.Everything)
		at.slow, err = p.Explained()
		return errors.Join(err, stop())
	})
	if err := errors.Join(err, take(withWaits)); err != nil {
		return err
	}
	stop := shop.Load(ctx, livepage.Everything)
	return errors.Join(take(underLoad), stop())
}

// takeDeaths takes the pictures of the page after a death.
func takeDeaths(ctx context.Context, chrome *livepage.Browser, dir string) (err error) {
	shop, err := livepage.StartSuccessor(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Stop()) }()
	return deaths.take(ctx, chrome, shop, dir)
}

// routeLink is the address of the profile of a route on the page of a session.
const routeLink = `[...document.querySelectorAll("#flames li a")].find((a) => a.textContent === "GET /search").hash`

// record records a session under a load until it has so many samples.
func record(ctx context.Context, shop *livepage.Shop, p *livepage.Page,
	call func(int) livepage.Call, samples int) (id int, err error) {
	if err := p.StartSession(); err != nil {
		return 0, err
	}
	stop := shop.Load(ctx, call)
	id, err = p.StopSession(samples)
	return id, errors.Join(err, stop())
}
