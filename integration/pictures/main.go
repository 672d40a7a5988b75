// Command pictures makes the documents' pictures of the live page, and of flame graphs on it. It
// runs the shop under load, records sessions of it, and takes the pictures with a browser:
//
//	go run -C integration ./pictures -dir ../docs
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/perfline/perfline/integration/livepage"
)

// screen is what the pictures are of.
var screen = livepage.View{Width: 1280, Height: 800, Scale: 2, Dark: true}

// graph is true when a flame graph's own page shows the graph.
const graph = `document.querySelector("main > .flames [role=treeitem]")`

func main() {
	dir := flag.String("dir", ".", "folder for live.png, live-flame.png and live-search.png")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *dir)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) (err error) {
	shop, err := livepage.StartShop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Stop()) }()
	chrome, err := livepage.StartBrowser(ctx)
	if err != nil {
		return err
	}
	defer chrome.Close()
	p, err := chrome.Open(shop.Page, screen)
	if err != nil {
		return err
	}
	defer p.Close()

	// A session of calls that compute: the slowest of all then has samples.
	if _, err := record(ctx, shop, p, livepage.Reading, 300); err != nil {
		return err
	}
	search := `[...document.querySelectorAll("#flames li a")].find((a) => a.textContent === "GET /search")`
	if err := p.Wait(search); err != nil {
		return err
	}
	route, err := livepage.Eval[string](p, search+`.hash`)
	if err != nil {
		return err
	}
	if err := shoot(p, route, graph, filepath.Join(dir, "live-search.png")); err != nil {
		return err
	}
	request, err := p.Sampled()
	if err != nil {
		return err
	}
	if err := shoot(p, request, `document.querySelector("#ran .flames")`, filepath.Join(dir, "live.png")); err != nil {
		return err
	}
	session, err := record(ctx, shop, p, livepage.Everything, 600)
	if err != nil {
		return err
	}
	return shoot(p, fmt.Sprintf("#/profile?session=%d", session), graph, filepath.Join(dir, "live-flame.png"))
}

// record records a session under a load until it has so many samples.
func record(ctx context.Context, shop *livepage.Shop, p *livepage.Page, call func(int) livepage.Call, samples int) (id int, err error) {
	if err := p.StartSession(); err != nil {
		return 0, err
	}
	stop := shop.Load(ctx, call)
	id, err = p.StopSession(samples)
	return id, errors.Join(err, stop())
}

// shoot writes a picture of what is at an address when it is ready.
func shoot(p *livepage.Page, address, ready, file string) error {
	if err := errors.Join(p.Go(address), p.Wait(ready)); err != nil {
		return err
	}
	picture, err := p.Picture()
	if err != nil {
		return err
	}
	if picture, err = shrink(picture); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	fmt.Printf("%s: %s, %d kB\n", file, address, len(picture)/1000)
	return os.WriteFile(file, picture, 0o644)
}
