package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/perfline/perfline/integration/livepage"
)

// A subject is what pictures are taken of.
type subject struct {
	name    string // of the files
	address string // of the view
	ready   string // true when the view shows its data
	then    func(p *livepage.Page) error
	height  int64 // of the window; 0 means the usual one
	summary bool  // it is on the page for production
	step    step
}

// A step is the time of a picture. The program replaces single requests, and what its recorder
// knows about them, soon after other requests come.
type step int

const (
	underLoad   step = iota
	withSamples      // right after the session that a request has samples of
	withWaits        // right after the recorder has the waits of a slow request
)

// addresses are the addresses of views in a run.
type addresses struct {
	session int
	slow    string // a request with waits
	sampled string // a request with samples
	route   string // a profile of a route
}

// routesShown is true when the overview has its table and its map.
const routesShown = `document.querySelector("#routes tbody tr") && document.querySelector("#heat [role=gridcell]")`

// subjects are the views of the shop.
func subjects(at addresses) []subject {
	click := func(css, ready string) func(p *livepage.Page) error {
		return func(p *livepage.Page) error { return errors.Join(p.Click(css), p.Wait(ready)) }
	}
	profile := func(tab string) string {
		return fmt.Sprintf("#/profile?tab=%s&session=%d", tab,
			at.session)
	}
	return []subject{
		{name: "overview", address: "#/", ready: routesShown, height: 1000},
		{name: "summary", summary: true, ready: routesShown},
		{name: "request", step: withWaits, address: at.slow,
			ready: `document.querySelector("#sentence") && document.querySelector("#waterfall tbody tr")`, height: 900},
		{name: "samples", step: withSamples, address: at.sampled,
			ready: `document.querySelector("#waterfall .stacks [role=treeitem]")`, height: 900},
		{name: "compare", step: withWaits, address: "#/compare?a=" + idOf(at.slow),
			ready: `document.querySelector("main table tbody tr")`, height: 900},
		{name: "profile", address: at.route,
			ready: `document.querySelector("#flame [role=treeitem]")`},
		{name: "top", address: profile("top"), ready: `document.querySelector("#top tbody tr")`},
		{name: "sandwich", address: profile("sandwich") + "&function=main.addParts",
			ready: `document.querySelector("#callees [role=treeitem]")`},
		{name: "difference",
			address: fmt.Sprintf("%s&tab=difference&with=session%%3D%d", at.route, at.session),
			ready:   `document.querySelector("#changes tbody tr")`},
		{name: "sessions", address: "#/sessions",
			ready: `document.querySelector("#sessions tbody tr")`},
		{name: "session", address: fmt.Sprintf("#/sessions/%d", at.session),
			ready: `document.querySelector("#timelines tbody tr")`},
		{name: "waits", address: "#/waits", ready: `document.querySelector("#waits-state")`,
			then: click("#arm", `document.querySelector("#disarm:enabled")`)},
		{name: "runtime", address: "#/runtime",
			ready: `document.querySelector("[data-chart=heap]")?.checkVisibility()`, height: 1000},
		{name: "counters", address: "#/counters",
			ready: `document.querySelector(".counters table")`},
	}
}

// deaths is the view of the processes before, in the shop that follows a dead one.
var deaths = subject{name: "deaths", address: "#/deaths",
	ready: `document.querySelector("#deaths .open a")`}

// idOf returns the ids in the address of a request.
func idOf(address string) string { return strings.TrimPrefix(address, "#/requests/") }

// take takes pictures of a subject, light and dark.
func (s *subject) take(ctx context.Context, chrome *livepage.Browser, shop *livepage.Shop,
	dir string) error {
	for _, dark := range []bool{false, true} {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.takeOne(chrome, shop, dir, dark); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (s *subject) takeOne(chrome *livepage.Browser, shop *livepage.Shop, dir string,
	dark bool) error {
	url := shop.Page + s.address
	if s.summary {
		url = shop.Summary
	}
	p, err := chrome.Open(url,
		livepage.View{Width: 1280, Height: cmp.Or(s.height, 800), Dark: dark})
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Wait(`document.querySelector("#stream-state").textContent === "live" && ` +
		s.ready); err != nil {
		return err
	}
	if s.then != nil {
		if err := s.then(p); err != nil {
			return err
		}
	}
	picture, err := p.Picture()
	if err != nil {
		return err
	}
	if picture, err = shrink(picture); err != nil {
		return err
	}
	if faults := p.Faults(); len(faults) > 0 {
		return fmt.Errorf("the page did wrong: %q", faults)
	}
	look := "light"
	if dark {
		look = "dark"
	}
	file := filepath.Join(dir, s.name+"-"+look+".png")
	fmt.Printf("%s: %s, %d kB\n", file, url, len(picture)/1000)
	return os.WriteFile(file, picture, 0o644)
}
